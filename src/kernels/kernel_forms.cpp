// The forms are collected by name; of a variant whose constants differ by size the first one met is shown.
#include "kernels/kernel_forms.h"

#include "device/webgpu/dry_device.h"
#include "kernels/kernel_info.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

void add_form(std::vector<KernelForm>& forms, const std::string& kernel, const device::webgpu::Dispatch& dispatch,
              bool is_dawn) {
  // A kernel that calls another one's door shows its own launches only.
  if (dispatch.kernel != kernel) return;
  const auto same = [&](const KernelForm& form) {
    return form.pass == dispatch.pass && form.variant == dispatch.variant;
  };
  const int64_t workgroups = int64_t{dispatch.grid.x} * dispatch.grid.y * dispatch.grid.z;
  if (const auto known = std::find_if(forms.begin(), forms.end(), same); known != forms.end()) {
    known->most_workgroups = std::max(known->most_workgroups, workgroups);
    return;
  }
  KernelForm form{kernel,
                  dispatch.pass,
                  dispatch.variant,
                  device::webgpu::shader_text(dispatch, is_dawn),
                  dispatch.entry_point,
                  dispatch.needs_f16,
                  dispatch.needs_subgroups,
                  {}};
  form.facts = device::webgpu::read_shader(form.text);
  form.most_workgroups = workgroups;
  forms.push_back(std::move(form));
}

/// Passes in the order of their first launch, the main one first; of each the portable form first.
void sort_forms(std::vector<KernelForm>& forms) {
  std::vector<std::string> passes = {""};
  for (const KernelForm& form : forms) {
    if (std::find(passes.begin(), passes.end(), form.pass) == passes.end()) passes.push_back(form.pass);
  }
  const auto place = [&](const KernelForm& form) {
    const auto pass = std::find(passes.begin(), passes.end(), form.pass) - passes.begin();
    return std::pair(pass, form.variant != device::webgpu::kPortable);
  };
  std::stable_sort(forms.begin(), forms.end(),
                   [&](const KernelForm& a, const KernelForm& b) { return place(a) < place(b); });
}

}  // namespace

std::vector<KernelForm> kernel_forms(device::Device* device,
                                     const std::function<bool(std::string_view kernel)>& wanted) {
  std::vector<KernelForm> all;
  const device::webgpu::DryRun like =
      device == nullptr ? device::webgpu::DryRun() : device::webgpu::dry_run_of(*device);
  const bool is_dawn = like.info.library.find("dawn") != std::string::npos;
  for (const KernelInfo& kernel : all_kernels()) {
    if (wanted && !wanted(kernel.name)) continue;
    std::vector<KernelForm> forms;
    device::webgpu::DryRun run = like;
    run.on_dispatch = [&](const device::webgpu::Dispatch& dispatch) {
      add_form(forms, kernel.name, dispatch, is_dawn);
    };
    const std::unique_ptr<device::Device> dry = device::webgpu::open_dry_device(std::move(run));
    for (const KernelCase& kernel_case : kernel.cases) {
      // The result is of zeros and nobody's.
      if (kernel_case.in_doctor) kernel_case.run(dry->stream());
    }
    sort_forms(forms);
    for (KernelForm& form : forms) all.push_back(std::move(form));
  }
  return all;
}

void check_kernel_name(const std::vector<KernelForm>& forms, std::string_view name) {
  const bool found =
      std::any_of(forms.begin(), forms.end(), [&](const KernelForm& form) { return form.name() == name; });
  if (found) return;
  const std::string_view stem = name.substr(0, name.find_first_of("_/"));
  std::string near;
  for (const KernelForm& form : forms) {
    if (form.variant != device::webgpu::kPortable || !form.kernel.starts_with(stem)) continue;
    near += (near.empty() ? "" : ", ") + form.name();
  }
  fail("kernels: there is no kernel {}; {}", name,
       near.empty() ? "`athanor kernels` lists them" : "perhaps one of " + near);
}

bool keeps_portable(device::Stream& stream, std::string_view kernel) {
  return stream.backend() == device::Backend::WebGpu && device::webgpu::as_webgpu(stream).keeps_portable(kernel);
}

int64_t replaced_launches(device::Stream& stream, std::string_view name) {
  if (stream.backend() == device::Backend::Cpu) return 0;
  return device::webgpu::as_webgpu(stream).replaced_launches(name);
}

}  // namespace athanor::kernels
