// Libraries and their adapters, one after the other.
#include "device/device_list.h"

#include "device/cpu/cpu_stream.h"
#include "device/webgpu/gpu.h"
#include "device/webgpu/library_search.h"
#include "device/webgpu/webgpu_device.h"

namespace athanor::device {

namespace {

ListedDevice listed(const std::filesystem::path& library, size_t index, const webgpu::Adapter& adapter) {
  ListedDevice device;
  device.name = fmt::format("webgpu:{}", index);
  device.description = fmt::format("{} through {}", adapter.name, library.filename().string());
  device.open = [library, index](const DeviceOptions& options) {
    std::string why_none;
    std::vector<webgpu::Adapter> adapters = webgpu::find_adapters(library, options, why_none);
    check(index < adapters.size(), "device webgpu:{}: it was there a moment ago; {} now has {} adapters", index,
          library.string(), adapters.size());
    return webgpu::open_webgpu_device(std::move(adapters[index]), options);
  };
  return device;
}

}  // namespace

DeviceList list_devices(const DeviceOptions& options) {
  DeviceList list;
  list.devices.push_back({"cpu", "the CPU", [](const DeviceOptions& chosen) { return cpu::open_cpu_device(chosen); }});
  for (const std::filesystem::path& library : webgpu::library_candidates()) {
    std::string why_none;
    try {
      const std::vector<webgpu::Adapter> adapters = webgpu::find_adapters(library, options, why_none);
      for (size_t i = 0; i < adapters.size(); ++i) list.devices.push_back(listed(library, i, adapters[i]));
      if (!adapters.empty()) continue;
    } catch (const Error& unusable) {
      why_none = unusable.what();
    }
    list.absent.push_back(fmt::format("{}: {}", library.string(), why_none));
  }
  return list;
}

}  // namespace athanor::device
