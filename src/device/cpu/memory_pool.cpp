// Size classes of the CPU device: multiples of an eighth of the next lower power of two, so that at most an eighth is wasted.
#include "device/cpu/memory_pool.h"

#include <bit>
#include <cstdlib>

namespace athanor::device::cpu {

int64_t size_class(int64_t size_bytes) {
  constexpr int64_t kSmallest = 256;
  if (size_bytes <= kSmallest) return kSmallest;
  const int64_t power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size_bytes)));
  const int64_t step = std::max<int64_t>(64, power / 8);
  return (size_bytes + step - 1) / step * step;
}

MemoryPool::~MemoryPool() { trim_locked(); }

MemoryPool::Block MemoryPool::take(int64_t size_bytes, std::string_view label) {
  const int64_t size = size_class(size_bytes);
  const std::lock_guard lock(lock_);
  use_.in_use_bytes += size;
  std::vector<Block>& free = free_[size];
  if (!free.empty()) {
    const Block block = free.back();
    free.pop_back();
    use_.pooled_bytes -= size;
    return block;
  }
  const auto held = [&] { return use_.in_use_bytes + use_.pooled_bytes; };
  if (limit_bytes_ > 0 && held() > limit_bytes_) trim_locked();
  const bool over = limit_bytes_ > 0 && held() > limit_bytes_;
  void* memory = over ? nullptr : std::aligned_alloc(64, static_cast<size_t>(size));
  if (memory == nullptr) {
    use_.in_use_bytes -= size;
    fail("device: {} bytes for {} cannot be had: {} bytes are in use{}; take a smaller batch, context or model",
         size_bytes, label, use_.in_use_bytes,
         limit_bytes_ > 0 ? fmt::format(" of the {} allowed", limit_bytes_) : std::string());
  }
  use_.allocations += 1;
  use_.peak_bytes = std::max(use_.peak_bytes, held());
  return {memory, size, next_id_++};
}

void MemoryPool::give_back(const Block& block) {
  const std::lock_guard lock(lock_);
  use_.in_use_bytes -= block.size_bytes;
  use_.pooled_bytes += block.size_bytes;
  free_[block.size_bytes].push_back(block);
}

void MemoryPool::trim() {
  const std::lock_guard lock(lock_);
  trim_locked();
}

void MemoryPool::trim_locked() {
  for (auto& [size, blocks] : free_) {
    for (const Block& block : blocks) std::free(block.memory);
    use_.pooled_bytes -= size * static_cast<int64_t>(blocks.size());
    blocks.clear();
  }
}

MemoryUse MemoryPool::use() const {
  const std::lock_guard lock(lock_);
  return use_;
}

}  // namespace athanor::device::cpu
