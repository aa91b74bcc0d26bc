// The device that a test program runs on: named by $ATHANOR_TEST_DEVICE (cpu by default, webgpu, webgpu:N), opened once a process
// since starting a software adapter is slow. $ATHANOR_TEST_CHECKED=1 keeps the WebGPU implementation's bounds checks,
// $ATHANOR_TEST_DEFAULT_LIMITS=1 asks the adapter for WebGPU's default limits only.
#pragma once

#include "device/device.h"
#include "device/webgpu/webgpu_stream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace athanor::testing {

inline std::string environment_variable(const char* name, std::string_view otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::string(value) : std::string(otherwise);
}

/// What the environment asks for; a test that opens a device of its own starts from this.
inline device::DeviceOptions device_options() {
  device::DeviceOptions options;
  options.name = environment_variable("ATHANOR_TEST_DEVICE", "cpu");
  options.checked = environment_variable("ATHANOR_TEST_CHECKED", "0") != "0";
  options.default_limits = environment_variable("ATHANOR_TEST_DEFAULT_LIMITS", "0") != "0";
  return options;
}

inline std::unique_ptr<device::Device>& shared_device() {
  static std::unique_ptr<device::Device> opened;
  return opened;
}

/// Opened at the first call; all tests of the process share it. Throws Error when it is not there: a test must not pass by skipping.
inline device::Device& device() {
  std::unique_ptr<device::Device>& opened = shared_device();
  if (!opened) opened = device::open_device(device_options());
  return *opened;
}

inline device::Stream& stream() { return device().stream(); }

inline bool is_webgpu() { return device().info().backend == device::Backend::WebGpu; }

/// Loops stand in for matrix units through Dawn alone: only it has the units, and only its WGSL takes two halves as a word by bitcast.
inline bool can_stand_in_for_units() {
  return is_webgpu() && device().info().library.find("dawn") != std::string::npos &&
         device::webgpu::as_webgpu(stream()).has_f16();
}

/// $ATHANOR_TEST_SHORT=1: only the cases that doctor runs (the pass with bounds checks on).
inline bool short_list() { return environment_variable("ATHANOR_TEST_SHORT", "0") != "0"; }

/// $ATHANOR_TEST_SLOW=1: also what takes minutes on software Vulkan.
inline bool slow_list() { return environment_variable("ATHANOR_TEST_SLOW", "0") != "0"; }

using device::webgpu::FewWorkgroups;

/// Closes the shared device while the process still stands: a driver may not survive the end of main.
class CloseDevice : public ::testing::Environment {
 public:
  void TearDown() override { shared_device().reset(); }
};
inline ::testing::Environment* const kCloseDevice = ::testing::AddGlobalTestEnvironment(new CloseDevice);

}  // namespace athanor::testing
