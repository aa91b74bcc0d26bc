// The counting pool, and the choice of a dry device.
#include "device/dry_memory.h"

#include "device/cpu/dry_cpu_device.h"
#include "device/webgpu/dry_device.h"

#include <algorithm>

namespace athanor::device {

DryMemory::Block DryMemory::take(int64_t size_bytes, std::string_view label) {
  Block block{size_class_(size_bytes), 0};
  std::vector<Block>& free = free_[block.class_bytes];
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
    use_.pooled_bytes -= block.class_bytes;
  } else {
    use_.allocations += 1;
  }
  if (size_bytes > block.touched_bytes) {
    touched_bytes_ += size_bytes - block.touched_bytes;
    block.touched_bytes = size_bytes;
  }
  use_.in_use_bytes += block.class_bytes;
  use_.peak_bytes = std::max(use_.peak_bytes, use_.in_use_bytes + use_.pooled_bytes);
  const auto at = [&](std::map<std::string, int64_t, std::less<>>& map) -> int64_t& {
    const auto found = map.find(label);
    return (found == map.end() ? map.emplace(label, 0).first : found)->second;
  };
  at(in_use_) += block.class_bytes;
  at(most_by_label_) = std::max(at(most_by_label_), at(in_use_));
  if (use_.in_use_bytes > most_in_use_bytes_) {
    most_in_use_bytes_ = use_.in_use_bytes;
    most_in_use_ = in_use_;
  }
  return block;
}

void DryMemory::give_back(const Block& block, std::string_view label) {
  use_.in_use_bytes -= block.class_bytes;
  use_.pooled_bytes += block.class_bytes;
  in_use_.find(label)->second -= block.class_bytes;
  free_[block.class_bytes].push_back(block);
}

DryDevice open_dry_device_like(Device& like) {
  if (like.info().backend == Backend::Cpu) return cpu::open_dry_cpu_device(like.info());
  webgpu::DryRun run = webgpu::dry_run_of(like);
  run.memory = webgpu::dry_memory_of(run.info);
  const std::shared_ptr<const DryMemory> memory = run.memory;
  return {webgpu::open_dry_device(std::move(run)), memory};
}

std::unique_ptr<Device> open_dry_gpu(DeviceInfo info) {
  webgpu::DryRun run;
  run.info = std::move(info);
  run.info.backend = Backend::WebGpu;
  return webgpu::open_dry_device(std::move(run));
}

}  // namespace athanor::device
