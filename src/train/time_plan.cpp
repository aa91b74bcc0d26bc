// Measures the parts of a run and counts them.
#include "train/time_plan.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/host.h"
#include "generate/token_source.h"
#include "train/random_step.h"
#include "train/sizing.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

namespace athanor::train {

namespace {

namespace fs = std::filesystem;

/// Steps of a run at which something is done every so many steps, the last step always counted once.
int64_t times_due(int64_t every, int64_t steps) {
  if (every <= 0) return 1;
  return steps / every + (steps % every == 0 ? 0 : 1);
}

/// A run is a sum of its steps, so the mean counts, slow ones too.
double measure_steps(RandomStep& step, double seconds, int64_t& measured) {
  step.run();  // compiles kernels, makes buffers
  step.wait();
  const double warm = now_seconds();
  step.run();
  step.wait();
  const double one = now_seconds() - warm;
  measured = 1;
  if (one >= seconds) return one;
  const double start = now_seconds();
  int64_t done = 0;
  while (done < 3 || now_seconds() - start < seconds) {
    step.run();
    ++done;
  }
  step.wait();
  measured = done;
  return (now_seconds() - start) / static_cast<double>(done);
}

/// Of one micro-batch of an evaluation.
double measure_evaluation(device::Stream& stream, const RandomStep& step, const nn::Rows& rows) {
  const std::vector<uint32_t> ids(static_cast<size_t>(rows.batch * rows.length), 1);
  const std::vector<int32_t> targets(ids.size(), 1);
  Evaluation evaluation(stream, step.model());
  evaluation.add(ids, targets, rows);
  evaluation.mean_loss();
  constexpr int kRepeats = 2;
  const double start = now_seconds();
  for (int i = 0; i < kRepeats; ++i) evaluation.add(ids, targets, rows);
  evaluation.mean_loss();
  return (now_seconds() - start) / kRepeats;
}

/// Of one token that is written.
double measure_token(device::Stream& stream, const RandomStep& step) {
  const int64_t capacity = step.model().config().max_position_embeddings;
  constexpr int64_t kTokens = 6;
  if (capacity < kTokens) return 0;
  generate::Decoder decoder(stream, generate::weights_where_they_lie(step.model()));
  generate::DeviceTokens tokens(stream, decoder, {}, decoder.config().vocab_size);
  decoder.feed(std::vector<uint32_t>{1}, generate::Decoder::Logits::OfTheLast);
  double start = 0;
  for (int64_t token = 0; token < kTokens; ++token) {
    if (token == 1) start = now_seconds();  // the first one compiles
    tokens.ask(token + 1);
    tokens.take();
  }
  return (now_seconds() - start) / (kTokens - 1);
}

/// Of a checkpoint: its bytes written, flushed, read again and hashed.
double measure_checkpoint(int64_t bytes) {
  constexpr int64_t kMost = 64 << 20;
  const fs::path path = fs::temp_directory_path() / fmt::format("athanor-plan-{}", std::random_device()());
  const std::vector<std::byte> zeros(static_cast<size_t>(std::min(bytes, kMost)), std::byte{0});
  const double start = now_seconds();
  write_file(path, std::string_view(reinterpret_cast<const char*>(zeros.data()), zeros.size()));
  hash_file(path);
  const double taken = now_seconds() - start;
  std::error_code ignored;
  fs::remove(path, ignored);
  return taken * static_cast<double>(bytes) / static_cast<double>(zeros.size());
}

}  // namespace

double measure_step(device::Stream& stream, const TrainSettings& settings, double seconds, int64_t* measured) {
  constexpr int64_t kFew = 3;  // micro-batches
  const int64_t steps = settings.gradient_accumulation_steps;
  int64_t taken = 0;
  const auto measure = [&](int64_t micro_batches, double how_long) {
    TrainSettings few = settings;
    few.gradient_accumulation_steps = micro_batches;
    RandomStep step(stream, few);
    return measure_steps(step, how_long, taken);
  };
  double result = 0;
  if (steps <= kFew) {
    result = measure(steps, seconds);
  } else {
    const double one = measure(1, seconds / 3);
    // Beside a micro-batch that takes so long, what a step does once is small.
    if (one >= seconds) {
      if (measured != nullptr) *measured = taken;
      return one * static_cast<double>(steps);
    }
    const double several = measure(kFew, seconds * 2 / 3);
    result = several + std::max(0.0, several - one) / (kFew - 1) * static_cast<double>(steps - kFew);
  }
  if (measured != nullptr) *measured = taken;
  return result;
}

BriefMeasure measure_briefly(device::Device& device, const TrainSettings& settings, double enough_seconds) {
  constexpr double kMicroBatchSeconds = 0.3;  // as the products alone would take: a step takes about twice as long
  const double start = now_seconds();
  const double row_flops =
      settings.model_config.training_flops_per_token(settings.max_length) * static_cast<double>(settings.max_length);
  const auto micro = static_cast<double>(settings.per_device_train_batch_size);
  const auto steps = static_cast<double>(settings.gradient_accumulation_steps);
  BriefMeasure result;
  const double rate = measure_matmul_peak(device.stream());
  const double least = row_flops * micro * steps / rate;
  if (least > enough_seconds) {
    result.seconds = least;
    result.is_least = true;
  } else {
    TrainSettings brief = settings;
    const double rows = std::clamp(std::floor(kMicroBatchSeconds * rate / row_flops), 1.0, micro);
    brief.per_device_train_batch_size = static_cast<int64_t>(rows);
    brief.gradient_accumulation_steps = 1;
    int64_t taken = 0;
    {
      RandomStep step(device.stream(), brief);
      result.seconds = measure_steps(step, 0.5, taken) * micro / rows * steps;
    }
  }
  device.trim();
  result.measuring_seconds = now_seconds() - start;
  return result;
}

TimePlan plan_time(device::Device& device, const TrainSettings& settings, int64_t validation_blocks, double seconds) {
  check(seconds > 0, "plan: {} seconds to measure; pass more than 0", seconds);
  device::Stream& stream = device.stream();
  const int64_t rows = settings.per_device_train_batch_size;
  TimePlan plan;
  {
    plan.seconds_per_step = measure_step(stream, settings, seconds, &plan.measured_steps);
    const auto tokens = static_cast<double>(rows * settings.gradient_accumulation_steps * settings.max_length);
    plan.tokens_per_second = tokens / plan.seconds_per_step;
    plan.flops_per_step = settings.model_config.training_flops_per_token(settings.max_length) * tokens;
    const RandomStep step(stream, settings);
    const int64_t blocks =
        settings.eval_batches == 0 ? validation_blocks : std::min(validation_blocks, settings.eval_batches * rows);
    if (blocks > 0) {
      const nn::Rows measured{std::min(rows, blocks), settings.max_length};
      plan.seconds_per_evaluation = measure_evaluation(stream, step, measured) * static_cast<double>(blocks) /
                                    static_cast<double>(measured.batch);
    }
    if (settings.sample_tokens > 0)
      plan.seconds_per_sample = measure_token(stream, step) * static_cast<double>(settings.sample_tokens);
  }
  plan.device_peak_bytes = device.memory().peak_bytes;
  plan.seconds_per_checkpoint = measure_checkpoint(settings.model_config.num_weights() * 12);
  const int64_t steps = settings.max_steps;
  plan.evaluations = validation_blocks > 0 ? times_due(settings.eval_steps, steps) : 0;
  plan.checkpoints = times_due(settings.save_steps, steps);
  if (settings.sample_tokens > 0)
    plan.samples = settings.sample_steps > 0 ? steps / settings.sample_steps : plan.evaluations;
  plan.seconds = plan.seconds_per_step * static_cast<double>(steps) +
                 plan.seconds_per_evaluation * static_cast<double>(plan.evaluations) +
                 plan.seconds_per_sample * static_cast<double>(plan.samples) +
                 plan.seconds_per_checkpoint * static_cast<double>(plan.checkpoints);
  plan.matmul_peak = measure_matmul_peak(stream);
  plan.mfu = plan.flops_per_step / plan.seconds_per_step / plan.matmul_peak;
  return plan;
}

}  // namespace athanor::train
