// The text of a .wgsl file, embedded by the build.
#pragma once

#include <string_view>

namespace athanor::device::webgpu {

struct ShaderSource {
  std::string_view name;  // file name without .wgsl
  std::string_view text;
};

}  // namespace athanor::device::webgpu
