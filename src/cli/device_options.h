// The flags by which every command that computes chooses its device.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace athanor::cli {

/// Adds --device, --threads, --device-memory and --checked. `options` must live as long as the command.
void add_device_options(CLI::App& command, device::DeviceOptions& options);

/// Adds --kernel NAME=FILE, which may be given several times (train/kernel_files.h). `values` must live as long as the command.
void add_kernel_option(CLI::App& command, std::vector<std::string>& values);

/// Opens the device and says in one line on stderr which it is.
std::unique_ptr<device::Device> open_device_and_say(const device::DeviceOptions& options);

}  // namespace athanor::cli
