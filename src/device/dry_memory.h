// What a pool of buffers would hold, counted without holding anything: size classes, reuse of the last one dropped, and who held what when
// most was in use. Dry devices count with it.
#pragma once

#include "device/device.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::device {

class DryMemory {
 public:
  /// size_class: bytes that the real pool takes for a request.
  explicit DryMemory(std::function<int64_t(int64_t)> size_class) : size_class_(std::move(size_class)) {}

  /// A block of the pool; it must be given back with what take() gave.
  struct Block {
    int64_t class_bytes = 0;
    int64_t touched_bytes = 0;  // the largest request it ever served: what of it is resident on a CPU
  };
  Block take(int64_t size_bytes, std::string_view label);
  void give_back(const Block& block, std::string_view label);

  const MemoryUse& use() const { return use_; }
  /// Of all blocks ever made, what requests asked for: without the waste of the size classes.
  int64_t touched_bytes() const { return touched_bytes_; }
  /// Most that was handed out at once, and its parts by the buffers' labels.
  int64_t most_in_use_bytes() const { return most_in_use_bytes_; }
  const std::map<std::string, int64_t, std::less<>>& most_in_use() const { return most_in_use_; }
  /// Most of each label at its own time.
  const std::map<std::string, int64_t, std::less<>>& most_by_label() const { return most_by_label_; }

 private:
  std::function<int64_t(int64_t)> size_class_;
  std::map<int64_t, std::vector<Block>> free_;
  std::map<std::string, int64_t, std::less<>> in_use_;  // by label
  std::map<std::string, int64_t, std::less<>> most_in_use_;
  std::map<std::string, int64_t, std::less<>> most_by_label_;
  int64_t most_in_use_bytes_ = 0;
  int64_t touched_bytes_ = 0;
  MemoryUse use_;
};

/// A device that computes and holds nothing, and what it counted. Downloads give zeros.
struct DryDevice {
  std::unique_ptr<Device> device;
  std::shared_ptr<const DryMemory> memory;
};

/// With the backend, limits, features and size classes of `like`: work given to it shows what `like` would hold.
DryDevice open_dry_device_like(Device& like);

/// A WebGPU device that runs nothing, has WebGPU's default limits and says that it is `info`.
std::unique_ptr<Device> open_dry_gpu(DeviceInfo info);

}  // namespace athanor::device
