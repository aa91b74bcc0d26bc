// Aligned host memory by size class, kept for reuse: a training step asks for the same sizes again and again.
#pragma once

#include "device/device.h"

#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace athanor::device::cpu {

/// Bytes that an allocation takes: multiples of an eighth of the next lower power of two, at least 256.
int64_t size_class(int64_t size_bytes);

class MemoryPool {
 public:
  struct Block {
    void* memory = nullptr;
    int64_t size_bytes = 0;  // the size class
    uint64_t id = 0;
  };

  /// limit_bytes 0: no limit but the system's.
  explicit MemoryPool(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  /// Throws Error with both sizes when the memory cannot be had.
  Block take(int64_t size_bytes, std::string_view label);
  void give_back(const Block& block);  // from any thread
  void trim();
  MemoryUse use() const;

 private:
  void trim_locked();

  int64_t limit_bytes_;
  mutable std::mutex lock_;
  std::map<int64_t, std::vector<Block>> free_;
  MemoryUse use_;
  uint64_t next_id_ = 1;
};

}  // namespace athanor::device::cpu
