// Cross entropy of rows of logits with one target each, and its gradient.
#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"

namespace athanor::kernels {

inline constexpr int32_t kIgnoreTarget = -100;  // a row with this target counts nothing, as in PyTorch

struct CrossEntropy {
  device::Buffer logits;   // (rows, V) f32
  device::Buffer targets;  // (rows) i32, below V or kIgnoreTarget: check_targets before the upload
  device::Buffer losses;   // (rows) f32, written; 0 for an ignored row
  int64_t rows = 0;
  int64_t vocabulary = 0;  // V
};

/// losses[row] = -log softmax(logits[row])[target]; accumulates in f32 from the row's maximum, so logits of 1e4 are fine.
/// Throws Error if a buffer's size is not as in CrossEntropy.
void cross_entropy(device::Stream& stream, const CrossEntropy& args);

struct CrossEntropyBackward {
  device::Buffer logits;    // (rows, V)
  device::Buffer targets;   // (rows) i32
  device::Buffer d_logits;  // (rows, V), written; not logits
  float scale = 1;          // 1 / number of target tokens of the step
  int64_t rows = 0;
  int64_t vocabulary = 0;
};

/// d_logits = (softmax(logits) - onehot(target)) * scale; zeros for an ignored row. The row's maximum and sum are found again: taking
/// them from the losses would lose the digits that a large logit has in front of the point.
void cross_entropy_backward(device::Stream& stream, const CrossEntropyBackward& args);

struct CrossEntropyFused {
  device::Buffer logits_to_gradient;  // (rows, V): logits in, d_logits out
  device::Buffer targets;             // (rows) i32
  device::Buffer losses;              // (rows) f32, written
  float scale = 1;
  int64_t rows = 0;
  int64_t vocabulary = 0;
};

/// Loss and gradient in one launch, the gradient over the logits: what the head uses, chunk by chunk.
void cross_entropy_in_place(device::Stream& stream, const CrossEntropyFused& args);

/// Throws Error, with the position, for a target that is neither kIgnoreTarget nor in [0, V).
void check_targets(std::span<const int32_t> targets, int64_t vocabulary);

}  // namespace athanor::kernels
