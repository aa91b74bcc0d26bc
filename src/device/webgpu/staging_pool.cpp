// Slots are found by a linear search: a step has a handful.
#include "device/webgpu/staging_pool.h"

#include <cstring>

namespace athanor::device::webgpu {

std::shared_ptr<StagingSlot> StagingPool::take(int64_t size_bytes) {
  collect_abandoned();
  const int64_t class_bytes = size_class(size_bytes);
  for (const std::shared_ptr<StagingSlot>& slot : slots_) {
    if (slot->state == StagingSlot::State::Free && slot->capacity_bytes == class_bytes) {
      slot->state = StagingSlot::State::Recorded;
      slot->is_abandoned = false;
      return slot;
    }
  }
  auto slot = std::make_shared<StagingSlot>();
  slot->buffer =
      create_buffer(gpu_, class_bytes, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, "download staging");
  slot->capacity_bytes = class_bytes;
  slot->state = StagingSlot::State::Recorded;
  allocations_ += 1;
  held_bytes_ += class_bytes;
  slots_.push_back(slot);
  return slot;
}

void StagingPool::start_mapping(StagingSlot& slot) {
  slot.state = StagingSlot::State::Mapping;
  WGPUBufferMapCallbackInfo then = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
  then.mode = WGPUCallbackMode_AllowProcessEvents;
  then.userdata1 = &slot;
  then.callback = [](WGPUMapAsyncStatus status, WGPUStringView message, void* to, void*) {
    auto* mapped = static_cast<StagingSlot*>(to);
    mapped->state = status == WGPUMapAsyncStatus_Success ? StagingSlot::State::Mapped : StagingSlot::State::Failed;
    if (status != WGPUMapAsyncStatus_Success) mapped->failure = to_string(message);
  };
  gpu_.api().BufferMapAsync(slot.buffer.get(), WGPUMapMode_Read, 0, static_cast<size_t>(slot.capacity_bytes), then);
}

void StagingPool::read(StagingSlot& slot, std::span<std::byte> bytes) {
  check(slot.state == StagingSlot::State::Mapped, "download: {} could not map {} bytes: {}", gpu_.info().name,
        bytes.size(), slot.failure);
  const void* mapped = gpu_.api().BufferGetConstMappedRange(slot.buffer.get(), 0, bytes.size());
  check(mapped != nullptr, "download: {} mapped {} bytes but shows none of them", gpu_.info().name, bytes.size());
  std::memcpy(bytes.data(), mapped, bytes.size());
  gpu_.api().BufferUnmap(slot.buffer.get());
  slot.state = StagingSlot::State::Free;
}

void StagingPool::collect_abandoned() {
  for (const std::shared_ptr<StagingSlot>& slot : slots_) {
    if (!slot->is_abandoned || slot->state != StagingSlot::State::Mapped) continue;
    gpu_.api().BufferUnmap(slot->buffer.get());
    slot->state = StagingSlot::State::Free;
  }
}

void StagingPool::trim() {
  collect_abandoned();
  std::erase_if(slots_, [&](const std::shared_ptr<StagingSlot>& slot) {
    if (slot->state != StagingSlot::State::Free) return false;
    held_bytes_ -= slot->capacity_bytes;
    return true;
  });
}

void StagingPool::close() {
  for (const std::shared_ptr<StagingSlot>& slot : slots_) {
    slot->is_closed = true;
    slot->buffer.reset();
  }
}

}  // namespace athanor::device::webgpu
