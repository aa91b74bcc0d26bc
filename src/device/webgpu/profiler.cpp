// A batch writes two timestamps a launch, resolves them at its end and copies them to a staging buffer.
#include "device/webgpu/profiler.h"

#include <algorithm>

namespace athanor::device::webgpu {

void Profiler::turn(bool on) {
  on_ = on;
  finished_.clear();
  batches_.clear();
  launches_.clear();
  if (on && gpu_.has_timestamps() && !queries_) make_queries();
}

void Profiler::make_queries() {
  WGPUQuerySetDescriptor description = WGPU_QUERY_SET_DESCRIPTOR_INIT;
  description.label = view("profile");
  description.type = WGPUQueryType_Timestamp;
  description.count = static_cast<uint32_t>(2 * most_launches_);
  const std::string errors = gpu_.errors_of(
      [&] { queries_ = {gpu_.api().DeviceCreateQuerySet(gpu_.device(), &description), gpu_.api().QuerySetRelease}; });
  check(errors.empty(), "profile: {} gives no {} timestamps: {}", gpu_.info().name, description.count, errors);
  resolved_ = create_buffer(gpu_, 2 * most_launches_ * static_cast<int64_t>(sizeof(uint64_t)),
                            WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc, "profile");
  // wgpu-native resolves raw ticks, Dawn nanoseconds.
  if (gpu_.api().QueueGetTimestampPeriod != nullptr)
    nanoseconds_per_tick_ = gpu_.api().QueueGetTimestampPeriod(gpu_.queue());
}

const WGPUPassTimestampWrites* Profiler::next_launch(const Dispatch& dispatch) {
  const auto index = static_cast<uint32_t>(2 * launches_.size());
  launches_.push_back({dispatch.kernel, 0, dispatch.cost, dispatch.pass, dispatch.variant});
  writes_.querySet = queries_.get();
  writes_.beginningOfPassWriteIndex = index;
  writes_.endOfPassWriteIndex = index + 1;
  return &writes_;
}

std::shared_ptr<StagingSlot> Profiler::end_batch(WGPUCommandEncoder encoder) {
  if (launches_.empty()) return nullptr;
  read_finished();
  const auto count = static_cast<uint32_t>(2 * launches_.size());
  const uint64_t bytes = count * sizeof(uint64_t);
  // Always whole, so that one size of staging buffer serves all batches.
  std::shared_ptr<StagingSlot> slot = staging_.take(2 * most_launches_ * static_cast<int64_t>(sizeof(uint64_t)));
  gpu_.api().CommandEncoderResolveQuerySet(encoder, queries_.get(), 0, count, resolved_.get(), 0);
  gpu_.api().CommandEncoderCopyBufferToBuffer(encoder, resolved_.get(), 0, slot->buffer.get(), 0, bytes);
  batches_.push_back({slot, std::exchange(launches_, {})});
  return slot;
}

void Profiler::read_finished() {
  std::erase_if(batches_, [&](TimedBatch& batch) {
    if (batch.slot->state != StagingSlot::State::Mapped) return false;
    std::vector<uint64_t> ticks(2 * batch.launches.size());
    staging_.read(*batch.slot, std::as_writable_bytes(std::span(ticks)));
    for (size_t i = 0; i < batch.launches.size(); ++i) {
      const uint64_t begin = ticks[2 * i];
      const uint64_t end = ticks[2 * i + 1];
      // Some drivers let a pass end before it began; such a time is no time.
      const double elapsed = end > begin ? static_cast<double>(end - begin) : 0;
      batch.launches[i].milliseconds = elapsed * nanoseconds_per_tick_ * 1e-6;
      finished_.push_back(std::move(batch.launches[i]));
    }
    return true;
  });
}

void Profiler::add_wall_time(const Dispatch& dispatch, double milliseconds) {
  finished_.push_back({dispatch.kernel, milliseconds, dispatch.cost, dispatch.pass, dispatch.variant});
}

std::vector<KernelLaunch> Profiler::take() {
  gpu_.wait_until([&] {
    return std::all_of(batches_.begin(), batches_.end(), [](const TimedBatch& batch) {
      return batch.slot->state == StagingSlot::State::Mapped || batch.slot->state == StagingSlot::State::Failed;
    });
  });
  for (const TimedBatch& batch : batches_) {
    check(batch.slot->state == StagingSlot::State::Mapped, "profile: the timestamps cannot be read: {}",
          batch.slot->failure);
  }
  read_finished();
  return std::exchange(finished_, {});
}

void Profiler::close() {
  batches_.clear();
  queries_.reset();
  resolved_.reset();
}

}  // namespace athanor::device::webgpu
