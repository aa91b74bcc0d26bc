// The dry run takes the path of the trainer: two steps, an evaluation, a sample, a checkpoint.
#include "train/memory_plan.h"

#include "base/error.h"
#include "base/fault.h"
#include "base/host.h"
#include "device/dry_memory.h"
#include "generate/token_source.h"
#include "train/checkpoint_writer.h"
#include "train/random_step.h"
#include "train/setting_error.h"
#include "train/sizing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace athanor::train {

namespace {

/// The kind that a buffer's label belongs to.
std::string_view kind_of(std::string_view label) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kKinds{{{"weights", "weights"},
                                                                                  {"f16 mirror", "weights"},
                                                                                  {"average of the weights", "weights"},
                                                                                  {"momentum", "moments"},
                                                                                  {"scales of 8-bit", "moments"},
                                                                                  {"gradients", "gradients"},
                                                                                  {"first moments", "moments"},
                                                                                  {"second moments", "moments"},
                                                                                  {"logits of a chunk", "logits"},
                                                                                  {"key cache", "cache"},
                                                                                  {"value cache", "cache"}}};
  for (const auto& [prefix, kind] : kKinds) {
    if (label.starts_with(prefix)) return kind;
  }
  return "activations";
}

void evaluate(device::Stream& stream, const RandomStep& step, const TrainSettings& settings, int64_t blocks) {
  Evaluation evaluation(stream, step.model());
  const auto add = [&](int64_t rows) {
    const std::vector<uint32_t> ids(static_cast<size_t>(rows * settings.max_length), 0);
    const std::vector<int32_t> targets(ids.size(), 0);
    evaluation.add(ids, targets, {rows, settings.max_length});
  };
  const int64_t rows = settings.per_device_train_batch_size;
  const int64_t most = settings.eval_batches == 0 ? blocks : std::min(blocks, settings.eval_batches * rows);
  if (most >= rows) add(rows);
  if (most % rows > 0) add(most % rows);
  if (most > 0) evaluation.mean_loss();
}

/// A prompt of a few tokens, and the last token that the cache has room for.
void write_sample(device::Stream& stream, const RandomStep& step) {
  generate::Decoder decoder(stream, generate::weights_where_they_lie(step.model()));
  generate::DeviceTokens tokens(stream, decoder, {}, decoder.config().vocab_size);
  const int64_t capacity = decoder.cache().capacity();
  const std::vector<uint32_t> prompt(static_cast<size_t>(std::min<int64_t>(8, capacity)), 0);
  decoder.feed(prompt, generate::Decoder::Logits::OfTheLast);
  generate::check_logits_of(stream, decoder, decoder.config().vocab_size);
  tokens.ask(0);
  tokens.take();
  if (decoder.cache().length() == capacity) return;
  decoder.skip_to(capacity - 1);
  tokens.ask(capacity);
  tokens.take();
}

CheckpointParts parts_of(const RandomStep& step) {
  return {step.model(), step.train_step().optimizer(), step.train_step().average()};
}

/// Reads what a checkpoint holds: tensor by tensor, as the last one does, and slab by slab for a copy.
void save(device::Stream& stream, const RandomStep& step, bool in_background) {
  constexpr int64_t kPart = 64 << 20;  // two staging buffers of a real device
  const auto read = [&](const device::Buffer& buffer) {
    for (int64_t at = 0; at < buffer.size_bytes(); at += kPart) {
      const int64_t size = std::min(kPart, buffer.size_bytes() - at);
      std::vector<std::byte> bytes(static_cast<size_t>(size));
      stream.download(buffer.slice(at, size), bytes);
    }
  };
  for (const device::Buffer& buffer : parts_of(step).buffers()) read(buffer);
  if (!in_background) return;
  for (const device::Buffer& slab : slabs_of(parts_of(step))) read(slab);
}

/// Whether there will be room for a copy of the state; on the CPU device the run's own memory comes out of the same.
bool saves_in_background(const device::DeviceInfo& info, const RandomStep& step, const TrainSettings& settings,
                         int64_t touched_bytes) {
  const int64_t beside = info.backend == device::Backend::Cpu ? touched_bytes : 0;
  return settings.save_in_background && has_room_for_copy(checkpoint_host_bytes(parts_of(step), true) + beside);
}

std::vector<MemoryKind> by_kind(const device::DryMemory& memory) {
  std::vector<MemoryKind> kinds;
  for (const char* name : {"weights", "gradients", "moments", "activations"}) kinds.push_back({name, 0});
  for (const auto& [label, bytes] : memory.most_in_use()) {
    const std::string_view name = kind_of(label);
    const auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const MemoryKind& kind) { return kind.name == name; });
    (found == kinds.end() ? kinds.back() : *found).bytes += bytes;
  }
  return kinds;
}

std::vector<MemoryKind> passing_kinds(const device::DryMemory& memory) {
  std::vector<MemoryKind> kinds{{"logits", 0}, {"cache", 0}};
  for (const auto& [label, bytes] : memory.most_by_label()) {
    for (MemoryKind& kind : kinds) kind.bytes += kind_of(label) == kind.name ? bytes : 0;
  }
  return kinds;
}

/// Nothing when a buffer or a binding is too large for the device.
std::optional<MemoryPlan> plan_if_possible(device::Device& device, const TrainSettings& settings,
                                           int64_t validation_blocks) {
  try {
    return plan_memory(device, settings, validation_blocks);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

MemoryPlan plan_memory(device::Device& device, const TrainSettings& settings, int64_t validation_blocks) {
  const NoFaults rehearsal;
  const device::DryDevice dry = device::open_dry_device_like(device);
  device::Stream& stream = dry.device->stream();
  MemoryPlan plan;
  {
    RandomStep step(stream, settings, RandomStep::Weights::Undefined);
    for (int i = 0; i < 3; ++i) step.run();
    step.wait();
    evaluate(stream, step, settings, validation_blocks);
    if (settings.sample_tokens > 0) write_sample(stream, step);
    const bool in_background = saves_in_background(device.info(), step, settings, dry.memory->touched_bytes());
    save(stream, step, in_background);
    plan.snapshot_bytes = checkpoint_host_bytes(parts_of(step), in_background);
  }
  plan.kinds = by_kind(*dry.memory);
  plan.passing = passing_kinds(*dry.memory);
  plan.in_use_bytes = dry.memory->most_in_use_bytes();
  plan.pool_bytes = dry.memory->use().peak_bytes - plan.in_use_bytes;
  plan.device_bytes = dry.device->memory().peak_bytes;
  plan.staging_bytes = plan.device_bytes - dry.memory->use().peak_bytes;
  plan.touched_bytes = dry.memory->touched_bytes();
  plan.limit_bytes = device.info().memory_bytes;
  return plan;
}

int64_t largest_micro_batch(device::Device& device, TrainSettings settings, int64_t validation_blocks, int64_t most,
                            double share) {
  const auto fits = [&](int64_t rows) {
    settings.per_device_train_batch_size = rows;
    const std::optional<MemoryPlan> plan = plan_if_possible(device, settings, validation_blocks);
    return plan && plan->fits(share);
  };
  settings.gradient_accumulation_steps = std::min<int64_t>(settings.gradient_accumulation_steps, 2);
  if (!fits(1)) return 0;
  int64_t least = 1;
  int64_t too_many = 2;
  while (too_many <= most && fits(too_many)) {
    least = too_many;
    too_many *= 2;
  }
  too_many = std::min(too_many, most + 1);
  while (too_many - least > 1) {
    const int64_t middle = least + (too_many - least) / 2;
    (fits(middle) ? least : too_many) = middle;
  }
  return least;
}

void check_memory(device::Device& device, const TrainSettings& settings, int64_t validation_blocks) {
  std::string why;
  try {
    const MemoryPlan plan = plan_memory(device, settings, validation_blocks);
    if (plan.fits()) return;
    why = fmt::format("the run needs {} but {} has {}", mebibytes(plan.device_bytes), device.info().name,
                      mebibytes(plan.limit_bytes));
  } catch (const Error& refused) {
    why = refused.what();
  }
  const int64_t rows = largest_micro_batch(device, settings, validation_blocks);
  const std::string what_fits =
      rows > 0 ? fmt::format(
                     "--per-device-train-batch-size {} fits (with --gradient-accumulation-steps for the same "
                     "batch){}",
                     rows, settings.gradient_checkpointing ? "" : ", as may --gradient-checkpointing true")
               : fmt::format("not even one row of {} tokens fits; take a shorter --max-length or a smaller model{}",
                             settings.max_length,
                             settings.gradient_checkpointing ? "" : ", or try --gradient-checkpointing true");
  throw SettingError(fmt::format("{}; {}; `athanor plan` shows what takes how much", why, what_fits));
}

int64_t host_base_bytes(device::Device& device) {
  constexpr int64_t kSmall = 256;
  measure_matmul_flops(device.stream(), kSmall);  // every worker has called BLAS, which keeps memory of its own
  device.trim();
  // The search for a micro-batch has freed much, which the run's own buffers will take again.
  release_freed_memory();
  return anonymous_resident_bytes();
}

int64_t host_peak_bytes(const MemoryPlan& plan, int64_t base) {
  return std::max(peak_anonymous_bytes(), base + plan.touched_bytes + plan.snapshot_bytes);
}

std::string mebibytes(int64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

}  // namespace athanor::train
