// The next token of each row of logits, drawn on the device: 4 bytes a row come back, not V logits.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct Sample {
  device::Buffer logits;  // (rows, V) f32, finite
  // (rows, L) u32: tokens that repeat_penalty makes less likely. Ids of V or more are skipped: shorter rows are filled with 0xffffffff.
  device::Buffer previous;  // empty when previous_length is 0
  device::Buffer tokens;    // (rows) u32, written
  int64_t rows = 0;
  int64_t vocabulary = 0;       // V, at most 2^24
  int64_t previous_length = 0;  // L

  float temperature = 0.8F;     // 0: the largest logit, of equal ones the lower id
  int64_t top_k = 40;           // keep the k most likely; 0: all
  float top_p = 0.95F;          // keep the fewest most likely whose probabilities reach p; 1: all
  float min_p = 0.05F;          // keep those at least this likely relative to the most likely; 0: all
  float repeat_penalty = 1.0F;  // above 1: tokens of `previous` become less likely, each once; 1: off

  uint64_t seed = 0;
  int64_t position = 0;    // of the token that is drawn, in its text
  uint32_t first_row = 0;  // number of the first row here, when rows of a batch are sampled in parts
};

/// Draws a token for each row, in llama.cpp's order, as generate::Sampler does on the host: repeat penalty (a logit above 0 is divided,
/// another multiplied, so that it falls for either sign), top-k, top-p, min-p, temperature, draw. Of equal logits the lower id counts as
/// more likely. The random number is that of Random(seed, RandomStream::Sampling, position, first_row + row), and the draw walks from
/// the most likely token down, or by id when neither top-k nor top-p leaves any out. Weights are whole multiples of 2^-31 that are added
/// up as integers on WebGPU, so the same logits give the same token on every run.
/// Throws Error, naming the option, for one that makes no distribution, and if a buffer's size is not as in Sample.
void sample(device::Stream& stream, const Sample& args);

}  // namespace athanor::kernels
