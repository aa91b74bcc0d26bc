// Measures generation with random weights: a prompt, then greedy tokens one by one as `generate` takes them, then where a token's time goes.
#pragma once

#include "generate/decoder_weights.h"

namespace athanor::generate {

struct GenerateBenchOptions {
  WeightFormat format = WeightFormat::F32;
  int64_t prompt_tokens = 64;  // with the text it fits the context of every preset
  int64_t tokens = 128;
  uint64_t seed = 0;
};

struct GenerateBench {
  int64_t num_weights = 0;
  int64_t weight_bytes_per_token = 0;       // DecoderWeights::read_bytes_per_token
  double prompt_seconds = 0;                // until the logits of its last token are there
  double seconds_per_token = 0;             // by the clock, from one token on the host to the next: median
  double recording_seconds = 0;             // of these the host's work until all launches are recorded: median
  double submit_seconds = 0;                // and until the library has handed them to the driver: median
  std::vector<device::KernelTime> kernels;  // of `profiled_tokens` tokens, every launch timed by itself, slowest first
  int64_t profiled_tokens = 0;
  double copy_bytes_per_second = 0;  // read and written by a copy, measured here
  int64_t device_peak_bytes = 0;     // most that the device layer held before that copy

  double launches_per_token() const;
  /// Sum of the launches' own times.
  double launch_seconds_per_token() const;
  /// The time of a token if all it took were to read its weights at the copy's rate.
  double reading_seconds() const { return static_cast<double>(weight_bytes_per_token) / copy_bytes_per_second; }
};

/// Throws Error when prompt and tokens do not fit the model's context, or a number is below 1.
GenerateBench bench_generate(device::Device& device, const nn::LlamaConfig& config,
                             const GenerateBenchOptions& options);

}  // namespace athanor::generate
