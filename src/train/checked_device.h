// The first use of a GPU with a driver: the kernels that training needs are compared with their plain loops, and the verdict is kept.
// Drivers do compute wrong numbers, and a run on one would be lost.
#pragma once

#include "device/device.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace athanor::train {

/// What is used of an adapter: everything, less, or nothing.
enum class AdapterUse { Everything, WithoutF16, WithoutSubgroups, Nothing };

struct AdapterVerdict {
  AdapterUse use = AdapterUse::Everything;
  std::vector<std::string> plain;  // kernels that keep their portable form
  std::vector<std::string> wrong;  // kernels that were wrong with what is no longer used
};

using OpenDevice = std::function<std::unique_ptr<device::Device>(const device::DeviceOptions&)>;

struct CheckedDevice {
  OpenDevice open = device::open_device;
  std::filesystem::path cache;         // folder of the verdicts; empty: cache_folder() / "adapters"
  std::filesystem::path choices = {};  // folder of the tables of choices; empty: cache_folder() / "choices"
  bool check_software = false;         // software adapters are for tests of the shaders, which judge them anyway
};

/// Opens the device that the options name. A hardware adapter that has no verdict yet is checked (about two seconds). Kernels that are
/// wrong are left in their portable form, alone (plain_kernels); with some that are wrong in that too the adapter is opened again without
/// shader-f16, then without subgroups too; then the CPU is used for "auto", and an adapter that was named is refused with an Error. Says
/// what it found in one line. With files of the user (kernel_files) nothing is judged. The device
/// uses the table of choices that is known for it (train/choice_files.h).
std::unique_ptr<device::Device> open_checked_device(const device::DeviceOptions& options,
                                                    const CheckedDevice& how = {});

/// The names of the kernels that are wrong here, of those that a training step launches; empty when all are right.
/// rounded: also where their factors may be rounded (float32_matmul_precision below highest).
std::vector<std::string> wrong_training_kernels(device::Device& device, bool rounded = false);

}  // namespace athanor::train
