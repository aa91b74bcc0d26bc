// The two devices' versions of the matrix products, behind their doors.
#pragma once

#include "kernels/launch.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_plan.h"
#include "kernels/matmul/matmul_product.h"

namespace athanor::kernels {

/// Up to this many rows of X a product is bound by reading W once, not by arithmetic (decoding), and has a kernel of
/// its own shape.
inline constexpr int64_t kFewRows = 8;

/// What every door calls: checks the call and runs it on the stream's device.
void run_product(Stream& stream, const ProductCall& call);

/// FLOPs, and bytes with each operand moved once; a result that is added to is read as well.
device::KernelCost cost_of(const ProductCall& call);

void product_cpu(device::cpu::CpuStream& stream, const ProductCall& call);

/// limits: those of the adapter, or lower ones in tests.
void product_webgpu(device::webgpu::WebGpuStream& stream, const ProductCall& call, const SplitLimits& limits);
SplitLimits limits_of(device::webgpu::WebGpuStream& stream);

}  // namespace athanor::kernels
