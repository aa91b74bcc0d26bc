// Fused multiply-adds in registers: what `bench kernels` takes as the arithmetic limit of a device. No part of training.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct ArithmeticPeak {
  device::Buffer out;  // (count) f32, written
  int64_t count = 0;   // threads: 1 or more
  int64_t rounds = 0;  // of kArithmeticChains multiply-adds each
};

inline constexpr int64_t kArithmeticChains =
    16;  // independent sums a thread keeps, so that none waits for its last result

/// Chain c of thread i starts at (i % 64 + c) / 64 and takes `rounds` times x = 0.5 x + 0.25; out[i] is the sum of its chains.
/// 2 * kArithmeticChains * rounds operations a value. Throws Error for a wrong size.
void arithmetic_peak(device::Stream& stream, const ArithmeticPeak& args);

}  // namespace athanor::kernels
