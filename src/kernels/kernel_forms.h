// Every shader that the launchers choose, as they choose it: the doctor's cases are run on a device that only notes launches. So the
// listing cannot differ from what runs, and needs no GPU.
#pragma once

#include "device/webgpu/shader_text.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::kernels {

// Layers above do not name WebGPU.
using device::webgpu::FewWorkgroups;
using device::webgpu::ShaderBinding;
using device::webgpu::ShaderFacts;
using device::webgpu::ShaderParam;

/// One shader of a kernel: a pass of it in one variant.
struct KernelForm {
  std::string kernel;
  std::string pass;     // empty for the main one
  std::string variant;  // "portable" first
  std::string text;     // WGSL that stands alone
  std::string entry_point;
  bool needs_f16 = false;
  bool needs_subgroups = false;
  ShaderFacts facts;
  int64_t most_workgroups = 0;  // of the largest launch among the cases that were run

  /// "rms_norm_backward/weight": what --wgsl and --kernel take.
  std::string name() const { return pass.empty() ? kernel : kernel + "/" + pass; }
};

/// The forms of the kernels whose name `wanted` accepts, in the order of the table, the portable one of each pass first.
/// device: its limits and features decide the variants; without one, or for the CPU, WebGPU's default limits and no features do.
std::vector<KernelForm> kernel_forms(device::Device* device,
                                     const std::function<bool(std::string_view kernel)>& wanted = {});

/// Throws Error, with what is near, when there is no kernel (or KERNEL/PASS) of this name.
void check_kernel_name(const std::vector<KernelForm>& forms, std::string_view name);

/// True where the device launches this kernel in its portable form alone; never on the CPU, which has one form.
bool keeps_portable(device::Stream& stream, std::string_view kernel);

/// Launches of the device so far that ran the user's file for this name (DeviceOptions::kernel_files).
int64_t replaced_launches(device::Stream& stream, std::string_view name);

}  // namespace athanor::kernels
