// Micro-batches by the memory plan.
#include "train/batch_size.h"

#include "base/counted.h"
#include "base/error.h"
#include "base/log.h"
#include "train/memory_plan.h"
#include "train/setting_error.h"

#include <algorithm>

namespace athanor::train {

namespace {

// Tokens of a micro-batch. On the CPU a longer one is no faster (docs/benchmarks.md, "Micro-batches"); on a GPU this is a bound, not a
// measurement: below it the memory decides.
constexpr int64_t kEnoughForCpu = 4096;
constexpr int64_t kEnoughForGpu = 65536;

/// The largest micro-batch of at most `most` rows into which `rows` can be cut evenly, or nearly so where an even one is less than half.
int64_t rows_of_micro_batch(int64_t rows, int64_t most) {
  for (int64_t micro = most; micro * 2 > most; --micro) {
    if (rows % micro == 0) return micro;
  }
  const int64_t steps = (rows + most - 1) / most;
  return (rows + steps - 1) / steps;
}

}  // namespace

int64_t rows_of_step(const TrainSettings& settings) {
  if (settings.per_device_train_batch_size > 0 && settings.gradient_accumulation_steps > 0)
    return settings.per_device_train_batch_size * settings.gradient_accumulation_steps;
  return std::max<int64_t>(1, (settings.batch_tokens + settings.max_length / 2) / settings.max_length);
}

void pick_batch(device::Device& device, TrainSettings& settings, int64_t validation_blocks) {
  if (settings.batch_tokens == 0) return;
  int64_t& micro = settings.per_device_train_batch_size;
  int64_t& steps = settings.gradient_accumulation_steps;
  const int64_t rows = rows_of_step(settings);
  const bool was_open = micro == 0 || steps == 0;
  if (micro > 0 && steps > 0) {
    check_setting(
        rows * settings.max_length == settings.batch_tokens,
        "batch_tokens {} are not per_device_train_batch_size {} x gradient_accumulation_steps {} x max_length "
        "{} = {}; leave one of them out",
        settings.batch_tokens, micro, steps, settings.max_length, rows * settings.max_length);
  } else if (micro > 0) {
    steps = std::max<int64_t>(1, (rows + micro / 2) / micro);
  } else if (steps > 0) {
    micro = std::max<int64_t>(1, (rows + steps / 2) / steps);
  } else {
    const bool is_gpu = device.info().is_hardware_gpu();
    const int64_t enough = std::max<int64_t>(1, (is_gpu ? kEnoughForGpu : kEnoughForCpu) / settings.max_length);
    settings.gradient_accumulation_steps = 2;  // so that the search counts what accumulating takes
    const int64_t fits = largest_micro_batch(device, settings, validation_blocks, std::min(rows, enough), 0.9);
    micro = rows_of_micro_batch(rows, std::max<int64_t>(1, fits));
    steps = (rows + micro - 1) / micro;
  }
  settings.batch_tokens = micro * steps * settings.max_length;
  if (was_open)
    log_info("a step of {}: {} of {} of {}", counted(settings.batch_tokens, "token"),
             counted(steps, "micro-batch", "micro-batches"), counted(micro, "row"), settings.max_length);
}

}  // namespace athanor::train
