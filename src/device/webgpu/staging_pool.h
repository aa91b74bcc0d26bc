// Host-readable buffers for downloads, mapped after the batch that fills them and used again: a steady step makes none.
#pragma once

#include "device/webgpu/buffer_pool.h"

#include <atomic>

namespace athanor::device::webgpu {

/// One staging buffer. Free -> Recorded (a copy into it is recorded) -> Mapping (submitted) -> Mapped or Failed -> Free.
struct StagingSlot {
  enum class State { Free, Recorded, Mapping, Mapped, Failed };
  Owned<WGPUBuffer> buffer;
  int64_t capacity_bytes = 0;
  State state = State::Free;
  std::string failure;
  std::atomic<bool> is_abandoned{false};  // its Readback was dropped unread, on any thread
  bool is_closed = false;                 // the device is gone
};

class StagingPool {
 public:
  explicit StagingPool(Gpu& gpu) : gpu_(gpu) {}

  std::shared_ptr<StagingSlot> take(int64_t size_bytes);
  /// After the submission of the copy.
  void start_mapping(StagingSlot& slot);
  /// The bytes of a mapped slot; it is free afterwards. Throws Error when the mapping failed.
  void read(StagingSlot& slot, std::span<std::byte> bytes);
  int64_t allocations() const { return allocations_; }
  int64_t held_bytes() const { return held_bytes_; }
  /// Free slots go.
  void trim();
  void close();

 private:
  void collect_abandoned();

  Gpu& gpu_;
  std::vector<std::shared_ptr<StagingSlot>> slots_;  // callbacks write to them until the device is closed
  int64_t allocations_ = 0;
  int64_t held_bytes_ = 0;
};

}  // namespace athanor::device::webgpu
