// A CPU device whose workers do nothing: the launchers run with their sizes and their scratch buffers, the loops do not.
#pragma once

#include "device/dry_memory.h"

namespace athanor::device::cpu {

/// With the threads and limits of `like`.
DryDevice open_dry_cpu_device(const DeviceInfo& like);

}  // namespace athanor::device::cpu
