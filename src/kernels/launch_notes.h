// What a piece of work would launch, noted on a device that runs nothing: kernels in order, with what each reads and writes.
#pragma once

#include "device/device.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace athanor::kernels {

struct NotedOperand {
  std::string access;  // "read", "read_write"
  std::string name;    // in the shader: "weight"
  std::string buffer;  // the buffer's own label
  int64_t bytes = 0;
};

struct NotedLaunch {
  std::string kernel;
  std::string pass;     // empty for the main one
  std::string variant;  // "portable", ...
  std::vector<NotedOperand> operands;
  std::string sizes;  // "rows 512, columns 256": the shader's parameters by name
  std::array<uint32_t, 3> grid = {1, 1, 1};
  device::KernelCost cost;
  size_t door = 0;  // index of the call it belongs to
};

/// One call of a kernel's door, of one or more launches.
struct NotedCall {
  std::string kernel;
  device::KernelCost cost;
};

struct LaunchNotes {
  std::vector<NotedCall> calls;
  std::vector<NotedLaunch> launches;
};

/// Runs `work` on a dry device with the limits and features of `like` (WebGPU's defaults where it is the CPU, whose chunk size it
/// takes). The work may clear the notes, when only its end is of interest. Downloads give zeros.
LaunchNotes note_launches(device::Device& like, const std::function<void(device::Stream&, LaunchNotes&)>& work);

}  // namespace athanor::kernels
