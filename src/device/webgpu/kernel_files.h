// Shaders of the user (--kernel NAME=FILE) that stand in for the portable form of a kernel.
#pragma once

#include "device/webgpu/webgpu_stream.h"

#include <deque>
#include <map>

namespace athanor::device::webgpu {

class KernelFiles {
 public:
  explicit KernelFiles(const std::vector<KernelFile>& files);

  bool is_empty() const { return sources_.empty(); }
  /// The kernels of which any pass is replaced.
  KernelNames kernels() const;
  /// The dispatch with the user's shader in place of ours, or the dispatch itself. Valid until the next call.
  const Dispatch& replace(const Dispatch& dispatch);
  /// Launches that ran the user's shader, by the name given.
  int64_t launches(std::string_view name) const;

 private:
  struct Entry {
    ShaderSource source;
    int64_t launches = 0;
  };
  std::deque<std::string> texts_;  // what the sources point to
  std::map<std::string, Entry, std::less<>> sources_;
  Dispatch replaced_;
};

}  // namespace athanor::device::webgpu
