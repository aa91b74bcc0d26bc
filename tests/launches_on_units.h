// What is launched on an adapter with matrix units, told by a dry device that claims to have them.
#pragma once

#include "device/webgpu/dry_device.h"

#include <functional>
#include <string>
#include <vector>

namespace athanor::testing {

/// "KERNEL", or "KERNEL/PASS", of each launch that `work` records; nothing is computed.
inline std::vector<std::string> launches_on_units(const std::function<void(device::Stream&)>& work) {
  using device::webgpu::SubgroupMatrix;
  std::vector<std::string> launches;
  device::webgpu::DryRun run;
  run.info.chunk_bytes = run.info.max_binding_bytes = 64 << 20;
  run.subgroup_matrices = {{SubgroupMatrix::Component::F16, SubgroupMatrix::Component::F32, 16, 16, 16, 32}};
  run.on_dispatch = [&](const device::webgpu::Dispatch& dispatch) {
    launches.push_back(dispatch.pass.empty() ? dispatch.kernel : dispatch.kernel + "/" + dispatch.pass);
  };
  const std::unique_ptr<device::Device> device = device::webgpu::open_dry_device(std::move(run));
  work(device->stream());
  return launches;
}

}  // namespace athanor::testing
