// A name is KERNEL for its main launch, KERNEL/PASS for another one.
#include "device/webgpu/kernel_files.h"

namespace athanor::device::webgpu {

KernelFiles::KernelFiles(const std::vector<KernelFile>& files) {
  for (const KernelFile& file : files) {
    texts_.push_back(file.text);
    sources_[file.kernel] = {{"", texts_.back()}, 0};
  }
}

KernelNames KernelFiles::kernels() const {
  KernelNames names;
  for (const auto& [name, entry] : sources_) names.insert(name.substr(0, name.find('/')));
  return names;
}

const Dispatch& KernelFiles::replace(const Dispatch& dispatch) {
  if (dispatch.variant != kPortable) return dispatch;
  const auto found =
      dispatch.pass.empty() ? sources_.find(dispatch.kernel) : sources_.find(dispatch.kernel + "/" + dispatch.pass);
  if (found == sources_.end()) return dispatch;
  found->second.launches += 1;
  replaced_ = dispatch;
  replaced_.prelude.clear();
  replaced_.sources = {&found->second.source};
  replaced_.entry_point = "main";
  replaced_.needs_f16 = false;
  replaced_.needs_subgroups = false;
  replaced_.needs_subgroup_matrix = false;
  return replaced_;
}

int64_t KernelFiles::launches(std::string_view name) const {
  const auto found = sources_.find(name);
  return found == sources_.end() ? 0 : found->second.launches;
}

}  // namespace athanor::device::webgpu
