// Muon: momentum whose direction is made orthogonal before the step. For one hidden matrix.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct MuonUpdate {
  device::Buffer weights;    // (rows, columns) = (in, out) f32, in and out
  device::Buffer gradients;  // (rows, columns) f32
  device::Buffer m;          // (rows, columns) f32, in and out; zeros before the first step
  device::Buffer
      stats;  // (4) f32 from finalize_grad_stats: gradients are multiplied by the clip scale; flag set: nothing changes
  int64_t rows = 0;     // in
  int64_t columns = 0;  // out
  float lr = 0.02F;
  float weight_decay = 0;
  float momentum = 0.95F;
  float one_minus_momentum = 0.05F;  // from the host in double, as 1 - momentum loses digits in f32
};

/// m = momentum m + (1 - momentum) g, x = momentum m + (1 - momentum) g (Nesterov), x /= |x| + 1e-7; five times x = a x + b A x + c A^2 x
/// with A = x x^T, or x^T x if there are fewer columns than rows, a = 3.4445, b = -4.775, c = 2.0315, after which the singular values of
/// x lie around 1; w -= lr decay w, w -= lr sqrt(max(1, out / in)) x. All in f32, by matmul, matmul_t and matmul_at. For the matrices
/// between embedding and head; vectors, embedding and head belong to AdamW.
/// Throws Error if a buffer's size is not as in MuonUpdate or a number is out of range.
/// Source: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/.
void muon_update(device::Stream& stream, const MuonUpdate& args);

}  // namespace athanor::kernels
