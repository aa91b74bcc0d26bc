// Cross entropy of rows of logits with one target each, and its gradient.
#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "kernels/accumulate.h"

namespace athanor::kernels {

inline constexpr int32_t kIgnoreTarget = -100;  // a row with this target counts nothing, as in PyTorch

/// What goes beyond -log softmax(logits)[target]; by default nothing.
struct CrossEntropyTerms {
  float label_smoothing = 0;  // e in [0, 1], as in PyTorch: the target is (1 - e) * onehot + e / V
  float z_loss = 0;           // adds z * logsumexp(logits)^2, which keeps logits from drifting
  float soft_cap = 0;         // logits become cap * tanh(logits / cap) before all else; 0: none
};

/// What the losses of many launches come to, on the device. The mean loss is loss_sum / max(count, 1): without a target it is 0.
struct CrossEntropyTotals {
  float loss_sum = 0;
  uint32_t count = 0;  // rows whose target is not kIgnoreTarget
};

struct CrossEntropy {
  device::Buffer logits;   // (rows, V) f32
  device::Buffer targets;  // (rows) i32, below V or kIgnoreTarget: check_targets before the upload
  device::Buffer losses;   // (rows) f32, written; 0 for an ignored row
  int64_t rows = 0;
  int64_t vocabulary = 0;  // V
  CrossEntropyTerms terms{};
  device::Buffer totals{};  // one CrossEntropyTotals, written or added to; may be empty when nobody needs it
  Accumulate accumulate_totals = Accumulate::No;
};

/// losses[row] = logsumexp(x) - (1 - e) * x[target] - e * mean(x) + z * logsumexp(x)^2, x the row's logits under the soft cap: by default
/// -log softmax(logits[row])[target]. Accumulates in f32 from the row's maximum, so logits of 1e4 are fine. totals by a fixed tree.
/// Throws Error if a buffer's size is not as in CrossEntropy or a term is out of range. Sources: label smoothing: Szegedy et al. 2015,
/// arXiv:1512.00567; z-loss: Chowdhery et al. 2022, arXiv:2204.02311; soft cap: Gemma 2, arXiv:2408.00118.
void cross_entropy(device::Stream& stream, const CrossEntropy& args);

struct CrossEntropyBackward {
  device::Buffer logits;    // (rows, V)
  device::Buffer targets;   // (rows) i32
  device::Buffer d_logits;  // (rows, V), written; not logits
  float scale = 1;          // 1 / number of target tokens of the step; 0 without any
  int64_t rows = 0;
  int64_t vocabulary = 0;
  CrossEntropyTerms terms{};
};

/// d_logits = ((1 + 2 z logsumexp(x)) * softmax(x) - (1 - e) * onehot(target) - e / V) * scale * (1 - (x / cap)^2); zeros for an ignored
/// row. The row's maximum and sum are found again: taking them from the losses would lose the digits that a large logit has in front of
/// the point.
void cross_entropy_backward(device::Stream& stream, const CrossEntropyBackward& args);

struct CrossEntropyFused {
  device::Buffer logits_to_gradient;  // (rows, V): logits in, d_logits out
  device::Buffer targets;             // (rows) i32
  device::Buffer losses;              // (rows) f32, written
  float scale = 1;
  int64_t rows = 0;
  int64_t vocabulary = 0;
  CrossEntropyTerms terms{};
  device::Buffer totals{};  // as in CrossEntropy
  Accumulate accumulate_totals = Accumulate::No;
};

/// Loss and gradient in one launch, the gradient over the logits: what the head uses, chunk by chunk.
void cross_entropy_in_place(device::Stream& stream, const CrossEntropyFused& args);

/// Throws Error, with the position, for a target that is neither kIgnoreTarget nor in [0, V).
void check_targets(std::span<const int32_t> targets, int64_t vocabulary);

}  // namespace athanor::kernels
