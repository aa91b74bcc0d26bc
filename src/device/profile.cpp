// Launches of one name added up.
#include "device/device.h"

#include <algorithm>
#include <map>

namespace athanor::device {

std::vector<KernelTime> Stream::take_profile() {
  std::map<std::string, KernelTime> by_name;
  for (KernelLaunch& launch : take_launches()) {
    KernelTime& time = by_name[launch.kernel];
    time.kernel = launch.kernel;
    time.launches += 1;
    time.milliseconds += launch.milliseconds;
    time.flops += launch.cost.flops;
    time.bytes += launch.cost.bytes;
  }
  std::vector<KernelTime> sorted;
  for (auto& [name, time] : by_name) sorted.push_back(std::move(time));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.milliseconds > b.milliseconds; });
  return sorted;
}

}  // namespace athanor::device
