// matvec through WebGPU, and on the CPU as the kernels that it joins.
#pragma once

#include "kernels/launch.h"
#include "kernels/matvec/matvec.h"

namespace athanor::kernels {

void matvec_webgpu(device::webgpu::WebGpuStream& stream, const MatVec& args, const device::KernelCost& cost,
                   int64_t max_binding_bytes);
/// The CPU has no launches to save: the doors of the norm, the gate and the product run in turn, and stand in profiles.
void matvec_cpu(Stream& stream, const MatVec& args);

/// Bytes of `rows` rows of W, not filled up.
int64_t matvec_row_bytes(MatVecWeight weight, int64_t rows, int64_t k);

}  // namespace athanor::kernels
