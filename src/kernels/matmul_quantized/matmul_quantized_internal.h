// The two devices' versions of the quantised products, behind their doors.
#pragma once

#include "kernels/launch.h"
#include "kernels/matmul_quantized/matmul_quantized.h"

namespace athanor::kernels {

/// Up to this many rows of X a product is bound by reading W once, not by arithmetic (decoding), and has a kernel of its own shape.
inline constexpr int64_t kFewQuantizedRows = 8;

void matmul_quantized_cpu(device::cpu::CpuStream& stream, const MatMulQuantized& args);

/// max_binding_bytes: W, X and Y are cut into parts that fit; the stream's limit but for tests.
void matmul_quantized_webgpu(device::webgpu::WebGpuStream& stream, const char* name, const MatMulQuantized& args,
                             int64_t max_binding_bytes);

/// Work and traffic of a product, or of a part of it with m rows and n columns. W counts with its quantised bytes.
device::KernelCost quantized_cost(const MatMulQuantized& args, int64_t m, int64_t n);

}  // namespace athanor::kernels
