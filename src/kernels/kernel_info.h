// What the build's table knows of each kernel: its name and the cases that judge it. doctor runs the short ones on the user's
// device, the tests run all; both compare with the plain loop in double precision.
#pragma once

#include "device/device.h"
#include "kernels/compare.h"

#include <functional>
#include <string>
#include <vector>

namespace athanor::kernels {

struct KernelCase {
  std::string name;                                // "rows 257, columns 65"
  bool in_doctor = false;                          // short enough for a check on the user's device
  std::function<CaseResult(device::Stream&)> run;  // makes inputs, launches, compares with the plain loop
};

struct KernelInfo {
  std::string name;     // "rms_norm_backward"
  std::string summary;  // one line: what it computes
  std::vector<KernelCase> cases;
};

/// Every kernel of every folder, in alphabetical order of the folders. Written by the build.
std::vector<KernelInfo> all_kernels();

}  // namespace athanor::kernels
