// --kernel NAME=FILE.wgsl: a shader of the user in the place of a kernel's portable form. Runs, doctor and bench read it here.
#pragma once

#include "device/device.h"

#include <string>
#include <vector>

namespace athanor::train {

/// Reads the files of lines NAME=FILE. Throws Error for a line that is not, a kernel that is not there or given twice, a file that
/// cannot be read, is larger than a shader can be, or is not UTF-8 text.
std::vector<device::KernelFile> read_kernel_files(const std::vector<std::string>& values);

/// Warns of each file that was never launched: its kernel was not used, or not in the portable form.
void warn_of_unused_kernel_files(device::Device& device, const std::vector<device::KernelFile>& files);

}  // namespace athanor::train
