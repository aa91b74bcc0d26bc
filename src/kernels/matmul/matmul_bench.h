// Operands for the benchmark of one matrix product.
#pragma once

#include "kernels/kernel_info.h"
#include "kernels/matmul/matmul_product.h"

namespace athanor::kernels {

/// A square product: M = N = K = 4096 for 256 MiB, and FLOPs in proportion to `bytes`. The scales of rounded factors are measured in the
/// first launch and kept, as most of a step's are.
KernelBench matmul_bench(device::Stream& stream, const ProductKernel& kernel, int64_t bytes,
                         MatMulPrecision precision = MatMulPrecision::Highest);

/// A product of one size, for kernels/tuner.h.
TuningLaunch matmul_tuning(device::Stream& stream, const ProductKernel& kernel, const Extents& size,
                           MatMulPrecision precision, OperandValues values);

}  // namespace athanor::kernels
