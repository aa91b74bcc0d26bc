// The whole text of a launch's shader, and what its own words tell of it: bindings, workgroup, grid, parameters. So the shader's head
// is the one place where they are written down; `kernels`, `explain` and the documentation read them here.
#pragma once

#include "device/webgpu/webgpu_stream.h"

#include <string>
#include <string_view>
#include <vector>

namespace athanor::device::webgpu {

/// What is handed to the WebGPU library: what the variant enables, its constants, its sources.
/// is_dawn: naga has the subgroup functions but refuses the directive.
std::string shader_text(const Dispatch& dispatch, bool is_dawn);

struct ShaderBinding {
  uint32_t index = 0;
  std::string access;       // "read", "read_write", "uniform"
  std::string name;         // of the variable
  std::string type;         // as declared, aliases resolved: "array<vec4<f32>>"
  std::string description;  // of the head: "(rows, C) f32"
};

struct ShaderParam {
  std::string name;
  std::string type;  // "u32", "f32", "i32"
};

struct ShaderFacts {
  std::vector<ShaderBinding> bindings;  // of group 0, by index
  std::vector<uint32_t> workgroup;      // three sizes
  std::string grid;                     // the head's "Grid:" line
  std::vector<ShaderParam> params;      // words of the uniform, in order; empty when it is not a struct of words
};

/// Reads the facts from a shader's text. What is not there stays empty. Never throws for odd text.
ShaderFacts read_shader(std::string_view text);

}  // namespace athanor::device::webgpu
