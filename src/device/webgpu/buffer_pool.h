// GPU buffers by size class. A dropped buffer can be handed out again at once: work on one queue runs in order, so what was
// recorded before still reads the old content and only what is recorded after writes the new one.
#pragma once

#include "device/webgpu/gpu.h"

#include <functional>
#include <map>
#include <unordered_map>

namespace athanor::device::webgpu {

/// A buffer of the pool, for its whole life; handed out many times.
struct PooledBuffer {
  Owned<WGPUBuffer> handle;
  int64_t size_bytes = 0;  // the size class
  uint64_t id = 0;
  uint64_t last_batch =
      0;  // the last batch that names it, so that an upload knows whether it must wait for that one's submission
};

class BufferPool;

/// What a Buffer of this device points to. Dropping it from any thread only puts the buffer into a list.
class WebGpuStorage final : public Storage {
 public:
  WebGpuStorage(std::shared_ptr<BufferPool> pool, PooledBuffer& buffer, int64_t size_bytes, std::string label);
  ~WebGpuStorage() override;
  PooledBuffer& pooled() const { return buffer_; }
  const BufferPool* pool() const { return pool_.get(); }

 private:
  std::shared_ptr<BufferPool> pool_;
  PooledBuffer& buffer_;  // owned by the pool
};

/// A new buffer of the runtime. Throws Error with the runtime's text when it cannot be had.
Owned<WGPUBuffer> create_buffer(Gpu& gpu, int64_t size_bytes, WGPUBufferUsage usage, std::string_view label);

/// The size that an allocation of size_bytes takes: eighths between powers of two (at most 1/8 is lost), at least 256.
int64_t size_class(int64_t size_bytes);

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  explicit BufferPool(Gpu& gpu) : gpu_(&gpu) {}

  /// Called before buffers are destroyed, so that recorded work that names them is handed in first.
  std::function<void()> before_release;
  /// Called with the ids of destroyed buffers: what was cached for them goes.
  std::function<void(std::span<const uint64_t>)> after_release;

  /// size_bytes is a multiple of 4. Throws Error with both sizes when it cannot be had.
  Buffer take(int64_t size_bytes, std::string_view label);
  void give_back(PooledBuffer& buffer);
  void trim();
  MemoryUse use() const;
  /// All buffers go, those still held by somebody too.
  void close();

 private:
  PooledBuffer* take_free(int64_t size_bytes);
  PooledBuffer* create(int64_t class_bytes, int64_t size_bytes, std::string_view label);

  Gpu* gpu_;
  mutable std::mutex lock_;
  std::map<int64_t, std::vector<PooledBuffer*>> free_;
  std::unordered_map<uint64_t, std::unique_ptr<PooledBuffer>> all_;
  MemoryUse use_;
  bool closed_ = false;
};

}  // namespace athanor::device::webgpu
