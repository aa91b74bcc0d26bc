// What open_device could open on this machine: doctor lists and checks all of it.
#pragma once

#include "device/device.h"

#include <functional>
#include <string>
#include <vector>

namespace athanor::device {

/// A device that is there. Opening it is left to the caller, one at a time: each takes memory.
struct ListedDevice {
  std::string name;                                                   // "cpu", "webgpu:0"
  std::string description;                                            // "NVIDIA H200 through libwebgpu_dawn.so"
  std::function<std::unique_ptr<Device>(const DeviceOptions&)> open;  // its options' name is not read
};

struct DeviceList {
  std::vector<ListedDevice> devices;
  std::vector<std::string> absent;  // libraries that gave no adapter, each with what it said
};

/// The CPU first, then every adapter of every WebGPU library. Starts and ends each library; throws nothing for what is missing.
DeviceList list_devices(const DeviceOptions& options = {});

}  // namespace athanor::device
