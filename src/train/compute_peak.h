// What a device computes at most: the yardstick of a run's MFU.
#pragma once

#include "device/device.h"
#include "kernels/matmul/matmul_precision.h"

namespace athanor::train {

/// FLOP/s of f32 multiply-adds in registers (kernels/arithmetic_peak), as `bench kernels` measures it, or of a matrix product where that is
/// more: on the CPU, and on a GPU with rounded factors permitted, which takes its matrix units. Takes about a fifth of a second; its memory
/// (3 MiB on the CPU, 192 MiB for the GPU's product) is given back.
double measure_compute_peak(device::Stream& stream, kernels::MatMulPrecision precision);

}  // namespace athanor::train
