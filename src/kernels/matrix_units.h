// Whether an adapter's matrix units are those that the shaders on subgroup matrices are written for.
#pragma once

#include "device/webgpu/webgpu_stream.h"

namespace athanor::kernels {

/// True when the adapter multiplies 16 x 16 x 16 blocks of f16 with f32 sums, held by subgroups of 32.
bool has_matrix_units(const device::webgpu::WebGpuStream& stream);

/// How many workgroups of 128 threads with 128 sums each keep the adapter busy; 0 where those of 256 threads with 16 sums do better, as
/// far as known. NVIDIA's processors have 65,536 registers: an H200 runs 396 such workgroups at once, three on each of 132, and reached
/// 43 TFLOP/s instead of 34 (matmul_at, 4096 x 4096 x 4096 in f32, 2026-11-30). Others are not measured.
int64_t busy_wide_tiles(device::webgpu::WebGpuStream& stream);

/// Of the matrix units over f32 arithmetic, at least: so much more work one launch may do there.
inline constexpr double kMatrixUnitsSpeed = 8;

}  // namespace athanor::kernels
