// What a device computes at most: the yardstick of a run's MFU.
#pragma once

#include "device/device.h"
#include "kernels/matmul/matmul_precision.h"

namespace athanor::train {

/// FLOP/s of f32 multiply-adds in registers (kernels/arithmetic_peak), as `bench kernels` measures it; on a GPU with rounded factors
/// permitted, of a large matrix product on the matrix units, where that is more. Takes about a tenth of a second; the memory it needs
/// (192 MiB for the product) is given back.
double measure_compute_peak(device::Stream& stream, kernels::MatMulPrecision precision);

}  // namespace athanor::train
