// Measurements before step 0.
#include "train/sizing.h"

#include "base/counted.h"
#include "base/host.h"
#include "base/log.h"
#include "kernels/matmul/matmul.h"
#include "tensor/tensor.h"
#include "train/time_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace athanor::train {

namespace {

struct Rung {
  int64_t width;
  int64_t layers;
  int64_t context;
};

// Heads of 32 (64 from a width of 512 on), a feed-forward of 8/3 of the width; about four times the weights every second rung.
constexpr std::array<Rung, 10> kLadder{{{64, 2, 128},
                                        {96, 3, 128},
                                        {128, 4, 256},
                                        {192, 4, 256},
                                        {256, 4, 256},
                                        {384, 6, 256},
                                        {512, 8, 512},
                                        {768, 12, 512},
                                        {1024, 16, 1024},
                                        {1536, 20, 1024}}};

nn::LlamaConfig config_of(const Rung& rung, const nn::LlamaConfig& base) {
  nn::LlamaConfig config = base;
  const int64_t head_dim = rung.width >= 512 ? 64 : 32;
  config.hidden_size = rung.width;
  config.intermediate_size = (rung.width * 8 / 3 + 31) / 32 * 32;
  config.num_hidden_layers = rung.layers;
  config.num_attention_heads = rung.width / head_dim;
  config.num_key_value_heads = config.num_attention_heads;
  config.head_dim = head_dim;
  config.tie_word_embeddings = true;
  if (config.max_position_embeddings == 0) config.max_position_embeddings = rung.context;
  return config;
}

}  // namespace

double measure_matmul_flops(device::Stream& stream, int64_t size) {
  const std::vector<float> zeros(static_cast<size_t>(size * size), 0.5F);
  const tensor::Tensor x = tensor::from_values(stream, zeros, Shape{size, size});
  const tensor::Tensor w = tensor::from_values(stream, zeros, Shape{size, size});
  const tensor::Tensor y = tensor::empty(stream, Shape{size, size}, "product");
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    stream.wait();
    const double start = now_seconds();
    kernels::matmul_t(stream, {x.buffer(), w.buffer(), y.buffer(), size, size, size});
    stream.wait();
    best = std::max(best, 2.0 * std::pow(static_cast<double>(size), 3) / (now_seconds() - start));
  }
  return best;
}

double measure_matmul_peak(device::Stream& stream) {
  constexpr double kLongEnough = 0.02;  // seconds of a launch, beside which starting it is nothing
  double best = 0;
  for (int64_t size = 256; size <= 4096; size *= 2) {
    const double rate = measure_matmul_flops(stream, size);
    best = std::max(best, rate);
    if (2.0 * std::pow(static_cast<double>(size), 3) / rate > kLongEnough) break;
  }
  return best;
}

void size_model(device::Stream& stream, TrainSettings& settings, int64_t train_tokens) {
  if (settings.model_config.hidden_size > 0) return;
  double most = static_cast<double>(train_tokens);
  if (settings.minutes > 0) {
    const double rate = 0.5 * measure_matmul_flops(stream, 512);
    most = std::min(most, std::sqrt(settings.minutes * 60 * rate / (6 * kTokensPerWeight)));
  }
  nn::LlamaConfig chosen = config_of(kLadder.front(), settings.model_config);
  for (const Rung& rung : kLadder) {
    const nn::LlamaConfig config = config_of(rung, settings.model_config);
    if (static_cast<double>(config.num_weights()) <= most) chosen = config;
  }
  // A text that is shorter than the context makes a shorter context.
  while (chosen.max_position_embeddings > 32 && train_tokens < 8 * chosen.max_position_embeddings)
    chosen.max_position_embeddings /= 2;
  settings.model_config = chosen;
}

void set_steps_from_minutes(device::Stream& stream, TrainSettings& settings) {
  if (settings.max_steps > 0 || settings.minutes <= 0) return;
  constexpr double kShareOfSteps = 0.88;  // the rest goes to evaluation, samples and checkpoints
  constexpr int64_t kReports = 8;         // evaluations and checkpoints of such a run
  constexpr double kMeasureSeconds = 0.7;
  const double seconds = measure_step(stream, settings, kMeasureSeconds);
  // A multiple of the interval, so that the last evaluation is not beside another.
  const int64_t interval =
      std::max<int64_t>(1, std::llround(settings.minutes * 60 * kShareOfSteps / seconds / kReports));
  settings.max_steps = kReports * interval;
  settings.eval_steps = interval;
  settings.save_steps = settings.eval_steps;
  // A forward pass is a third of a step; all evaluations together stay under a tenth of the run.
  if (settings.eval_batches == 0) settings.eval_batches = std::max<int64_t>(1, std::llround(0.3 * settings.eval_steps));
  log_info("a step takes {:.1f} ms here: {} in {} minute{}", seconds * 1e3, counted(settings.max_steps, "step"),
           settings.minutes, settings.minutes == 1 ? "" : "s");
}

}  // namespace athanor::train
