// Flags of the device.
#include "cli/device_options.h"

#include "base/log.h"
#include "train/checked_device.h"

namespace athanor::cli {

void add_device_options(CLI::App& command, device::DeviceOptions& options) {
  const std::string group = "Device";
  command.add_option("--device", options.name, "auto (the best GPU, else the CPU), cpu, webgpu or webgpu:N")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--threads", options.threads, "CPU threads; 0: all that this process may use")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--device-memory", options.memory_bytes,
                  "Memory to count on, such as 8GiB, where the device does not tell (0: what it tells)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE")
      ->group(group);
  command.add_flag("--checked", options.checked, "Keep the WebGPU library's bounds checks: slower, for finding faults")
      ->group(group);
}

void add_kernel_option(CLI::App& command, std::vector<std::string>& values) {
  command
      .add_option(
          "--kernel", values,
          "A shader of yours in the place of a kernel's portable form, as `athanor kernels --wgsl NAME` prints it")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->group("Device");
}

std::unique_ptr<device::Device> open_device_and_say(const device::DeviceOptions& options) {
  std::unique_ptr<device::Device> device = train::open_checked_device(options);
  log_info("{}", device::describe(device->info()));
  return device;
}

}  // namespace athanor::cli
