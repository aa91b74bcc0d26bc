// A launch's words come from its shader's own declarations.
#include "kernels/launch_notes.h"

#include "device/webgpu/dry_device.h"
#include "device/webgpu/shader_text.h"

#include <bit>
#include <map>

namespace athanor::kernels {

namespace {

using device::webgpu::Dispatch;
using device::webgpu::ShaderFacts;

/// Reading a shader takes longer than everything else here, and a step launches each many times.
class FactsCache {
 public:
  const ShaderFacts& of(const Dispatch& dispatch) {
    std::string text = device::webgpu::shader_text(dispatch, true);
    const auto found = facts_.find(text);
    if (found != facts_.end()) return found->second;
    ShaderFacts facts = device::webgpu::read_shader(text);
    return facts_.emplace(std::move(text), std::move(facts)).first->second;
  }

 private:
  std::map<std::string, ShaderFacts> facts_;
};

std::string sizes_of(const Dispatch& dispatch, const ShaderFacts& facts) {
  std::string sizes;
  for (size_t i = 0; i < facts.params.size() && i < dispatch.params.size(); ++i) {
    const device::webgpu::ShaderParam& param = facts.params[i];
    if (param.name == "_") continue;
    const uint32_t word = dispatch.params[i];
    const std::string value = param.type == "f32" ? fmt::format("{:.6g}", std::bit_cast<float>(word))
                                                  : (param.type == "i32" ? fmt::format("{}", static_cast<int32_t>(word))
                                                                         : fmt::format("{}", word));
    sizes += fmt::format("{}{} {}", sizes.empty() ? "" : ", ", param.name, value);
  }
  return sizes;
}

NotedLaunch noted(const Dispatch& dispatch, const ShaderFacts& facts, size_t door) {
  NotedLaunch launch;
  launch.kernel = dispatch.kernel;
  launch.pass = dispatch.pass;
  launch.variant = dispatch.variant;
  launch.sizes = sizes_of(dispatch, facts);
  launch.grid = {dispatch.grid.x, dispatch.grid.y, dispatch.grid.z};
  launch.cost = dispatch.cost;
  launch.door = door;
  for (size_t i = 0; i < dispatch.bindings.size(); ++i) {
    const device::webgpu::Binding& binding = dispatch.bindings[i];
    std::string name;
    for (const device::webgpu::ShaderBinding& declared : facts.bindings) {
      if (declared.index == i) name = declared.name;
    }
    launch.operands.push_back({binding.access == device::webgpu::Access::Read ? "read" : "read_write", name,
                               binding.buffer.storage()->label(), binding.buffer.size_bytes()});
  }
  return launch;
}

}  // namespace

LaunchNotes note_launches(device::Device& like, const std::function<void(device::Stream&, LaunchNotes&)>& work) {
  LaunchNotes notes;
  FactsCache cache;
  device::webgpu::DryRun run = device::webgpu::dry_run_of(like);
  run.on_door = [&](std::string_view kernel, const device::KernelCost& cost) {
    notes.calls.push_back({std::string(kernel), cost});
  };
  run.on_dispatch = [&](const Dispatch& dispatch) {
    notes.launches.push_back(noted(dispatch, cache.of(dispatch), notes.calls.size() - 1));
  };
  const std::unique_ptr<device::Device> dry = device::webgpu::open_dry_device(std::move(run));
  work(dry->stream(), notes);
  return notes;
}

}  // namespace athanor::kernels
