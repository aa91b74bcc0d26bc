// A WebGPU device that runs nothing and notes every launch: what `kernels` lists and `explain` tells comes from the launchers themselves,
// without a GPU.
#pragma once

#include "device/dry_memory.h"
#include "device/webgpu/webgpu_stream.h"

#include <functional>

namespace athanor::device::webgpu {

struct DryRun {
  DeviceInfo info;  // of the device it stands for; its chunk_bytes decides how work is cut
  Limits limits;    // WebGPU's defaults, or those of an adapter
  bool has_f16 = false;
  bool has_subgroups = false;
  std::vector<SubgroupMatrix> subgroup_matrices;
  KernelNames portable_kernels;
  std::shared_ptr<const ChoiceTable> choices;
  std::function<void(const Choice&, int64_t answer)> on_choice;  // a launcher asked; may be empty
  std::function<void(std::string_view kernel, const KernelCost& cost)>
      on_door;                                       // the door of a kernel was called; may be empty
  std::function<void(const Dispatch&)> on_dispatch;  // may be empty
  std::shared_ptr<DryMemory> memory;                 // counts what the pool would hold; made when empty
  std::shared_ptr<DryMemory> staging;                // likewise for downloads
};

/// Counts by the size classes of the pool of a device like this.
std::shared_ptr<DryMemory> dry_memory_of(const DeviceInfo& info);

/// Buffers hold nothing; a download gives zeros.
std::unique_ptr<Device> open_dry_device(DryRun run);

/// What a dry run needs to stand for this device: its limits, features, kernels in portable form and choices where it is WebGPU,
/// the defaults where it is the CPU.
DryRun dry_run_of(Device& device);

}  // namespace athanor::device::webgpu
