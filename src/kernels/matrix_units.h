// Whether an adapter's matrix units are those that the shaders on subgroup matrices are written for.
#pragma once

#include "device/webgpu/webgpu_stream.h"

namespace athanor::kernels {

/// True when the adapter multiplies 16 x 16 x 16 blocks of f16 with f32 sums, held by subgroups of 32.
bool has_matrix_units(const device::webgpu::WebGpuStream& stream);

/// Of the matrix units over f32 arithmetic, at least: so much more work one launch may do there.
inline constexpr double kMatrixUnitsSpeed = 8;

}  // namespace athanor::kernels
