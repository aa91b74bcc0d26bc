// A range of bytes on a device: a shared handle to one whole storage of the pool. Kernels bind whole storages or 256-byte
// aligned ranges of them, so that every adapter accepts the offset.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace athanor::device {

inline constexpr int64_t kBufferAlignment = 256;  // WebGPU's largest minStorageBufferOffsetAlignment

/// One allocation of a device. Each kind of device has its own.
class Storage {
 public:
  virtual ~Storage() = default;
  int64_t size_bytes() const { return size_bytes_; }
  /// Unique while the process runs; aliasing checks and bind group caches use it.
  uint64_t id() const { return id_; }
  const std::string& label() const { return label_; }

 protected:
  Storage(int64_t size_bytes, uint64_t id, std::string label)
      : size_bytes_(size_bytes), id_(id), label_(std::move(label)) {}
  int64_t size_bytes_;
  uint64_t id_;
  std::string label_;
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Storage> storage, int64_t offset_bytes, int64_t size_bytes)
      : storage_(std::move(storage)), offset_bytes_(offset_bytes), size_bytes_(size_bytes) {}

  explicit operator bool() const { return storage_ != nullptr; }
  int64_t size_bytes() const { return size_bytes_; }
  int64_t offset_bytes() const { return offset_bytes_; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  /// A part of this buffer. offset_bytes within this buffer; a kernel that binds the part needs it at a multiple of 256.
  Buffer slice(int64_t offset_bytes, int64_t size_bytes) const {
    check(offset_bytes >= 0 && size_bytes >= 0 && offset_bytes <= size_bytes_ - size_bytes,
          "buffer: slice of {} bytes at {} does not lie within {} bytes", size_bytes, offset_bytes, size_bytes_);
    return {storage_, offset_bytes_ + offset_bytes, size_bytes};
  }

 private:
  std::shared_ptr<Storage> storage_;
  int64_t offset_bytes_ = 0;
  int64_t size_bytes_ = 0;
};

}  // namespace athanor::device
