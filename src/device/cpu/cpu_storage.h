// What a Buffer of the CPU device points to: plain memory, owned by a pool or, in a dry run, by itself.
#pragma once

#include "device/buffer.h"

namespace athanor::device::cpu {

class CpuStorage : public Storage {
 public:
  void* memory() const { return memory_; }

 protected:
  CpuStorage(void* memory, int64_t size_bytes, uint64_t id, std::string label)
      : Storage(size_bytes, id, std::move(label)), memory_(memory) {}

 private:
  void* memory_;
};

}  // namespace athanor::device::cpu
