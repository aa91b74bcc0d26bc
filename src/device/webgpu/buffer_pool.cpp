// The memory budget is checked here, before the runtime is asked: software Vulkan kills the process where it should refuse.
#include "device/webgpu/buffer_pool.h"

#include "device/device_lost.h"

#include <atomic>
#include <bit>

namespace athanor::device::webgpu {

namespace {

/// Ids are never used twice while the process runs, also not by another device.
uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

WebGpuStorage::WebGpuStorage(std::shared_ptr<BufferPool> pool, PooledBuffer& buffer, int64_t size_bytes,
                             std::string label)
    : Storage(size_bytes, buffer.id, std::move(label)), pool_(std::move(pool)), buffer_(buffer) {}

WebGpuStorage::~WebGpuStorage() { pool_->give_back(buffer_); }

Owned<WGPUBuffer> create_buffer(Gpu& gpu, int64_t size_bytes, WGPUBufferUsage usage, std::string_view label) {
  WGPUBufferDescriptor description = WGPU_BUFFER_DESCRIPTOR_INIT;
  description.label = view(label);
  description.usage = usage;
  description.size = static_cast<uint64_t>(size_bytes);
  Owned<WGPUBuffer> buffer;
  const std::string errors = gpu.errors_of([&] {
    buffer = Owned<WGPUBuffer>(gpu.api().DeviceCreateBuffer(gpu.device(), &description), gpu.api().BufferRelease);
  });
  check(errors.empty() && buffer, "{}: {} bytes cannot be had from {}: {}", label, size_bytes, gpu.info().name,
        errors.empty() ? "the runtime gives no reason" : errors);
  return buffer;
}

int64_t size_class(int64_t size_bytes) {
  constexpr int64_t kSmallest = 256;
  if (size_bytes <= kSmallest) return kSmallest;
  const auto below = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size_bytes)));
  const int64_t step = std::max<int64_t>(below / 8, 4);
  return (size_bytes + step - 1) / step * step;
}

PooledBuffer* BufferPool::take_free(int64_t class_bytes) {
  const std::lock_guard guard(lock_);
  check(!closed_, "allocate: the device is closed");
  const auto found = free_.find(class_bytes);
  if (found == free_.end() || found->second.empty()) return nullptr;
  PooledBuffer* buffer =
      found->second.back();  // the last one dropped: in a steady step each tensor meets its old buffer again
  found->second.pop_back();
  use_.pooled_bytes -= class_bytes;
  use_.in_use_bytes += class_bytes;
  return buffer;
}

Buffer BufferPool::take(int64_t size_bytes, std::string_view label) {
  const int64_t largest = gpu_->info().max_buffer_bytes;
  check(size_bytes <= largest,
        "{}: a buffer of {} bytes is needed but {} gives at most {} in one; use a smaller batch or model", label,
        size_bytes, gpu_->info().name, largest);
  const int64_t class_bytes = std::min(size_class(size_bytes), largest / 4 * 4);
  PooledBuffer* buffer = take_free(class_bytes);
  if (buffer == nullptr) buffer = create(class_bytes, size_bytes, label);
  return {std::make_shared<WebGpuStorage>(shared_from_this(), *buffer, size_bytes, std::string(label)), 0, size_bytes};
}

PooledBuffer* BufferPool::create(int64_t class_bytes, int64_t size_bytes, std::string_view label) {
  const int64_t budget = gpu_->info().memory_bytes;
  const auto fits = [&] {
    const MemoryUse held = use();
    return budget == 0 || held.in_use_bytes + held.pooled_bytes <= budget - class_bytes;
  };
  if (!fits()) trim();
  check(fits(),
        "{}: {} bytes are needed but only {} of {} on {} are free; use a smaller batch or model, or raise "
        "--device-memory",
        label, size_bytes, std::max<int64_t>(0, budget - use().in_use_bytes), budget, gpu_->info().name);

  constexpr WGPUBufferUsage kUsage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  auto buffer = std::make_unique<PooledBuffer>();
  try {
    buffer->handle = create_buffer(*gpu_, class_bytes, kUsage, label);
  } catch (const DeviceLost&) {
    throw;
  } catch (const Error&) {
    trim();  // what is kept for reuse may be what is missing
    try {
      buffer->handle = create_buffer(*gpu_, class_bytes, kUsage, label);
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& refused) {
      fail("{} ({} bytes are in use); use a smaller batch or model", refused.what(), use().in_use_bytes);
    }
  }
  buffer->size_bytes = class_bytes;
  buffer->id = next_id();

  const std::lock_guard guard(lock_);
  use_.in_use_bytes += class_bytes;
  use_.allocations += 1;
  use_.peak_bytes = std::max(use_.peak_bytes, use_.in_use_bytes + use_.pooled_bytes);
  PooledBuffer* made = buffer.get();
  all_.emplace(made->id, std::move(buffer));
  return made;
}

void BufferPool::give_back(PooledBuffer& buffer) {
  const std::lock_guard guard(lock_);
  if (closed_) return;
  free_[buffer.size_bytes].push_back(&buffer);
  use_.in_use_bytes -= buffer.size_bytes;
  use_.pooled_bytes += buffer.size_bytes;
}

void BufferPool::trim() {
  if (before_release) before_release();
  std::vector<uint64_t> ids;
  std::vector<std::unique_ptr<PooledBuffer>> gone;
  {
    const std::lock_guard guard(lock_);
    for (auto& [class_bytes, buffers] : free_) {
      for (PooledBuffer* buffer : buffers) {
        use_.pooled_bytes -= class_bytes;
        ids.push_back(buffer->id);
        gone.push_back(std::move(all_.extract(buffer->id).mapped()));
      }
    }
    free_.clear();
  }
  if (after_release) after_release(ids);
  // Destroyed, not only released: the memory comes back now, not when the last bind group or callback lets go.
  for (const std::unique_ptr<PooledBuffer>& buffer : gone) gpu_->api().BufferDestroy(buffer->handle.get());
}

MemoryUse BufferPool::use() const {
  const std::lock_guard guard(lock_);
  return use_;
}

void BufferPool::close() {
  const std::lock_guard guard(lock_);
  closed_ = true;
  free_.clear();
  // The entries stay for the storages that point at them; their handles go.
  for (auto& [id, buffer] : all_) buffer->handle.reset();
}

}  // namespace athanor::device::webgpu
