# Finds the kernel folders, embeds their WGSL as strings and writes the table of kernels. No list is edited by hand.
#   src/kernels/NAME/*.wgsl        ->  kernels/wgsl/<file>.h declares   extern const device::ShaderSource <file>_wgsl;
#   src/kernels/NAME/NAME.cpp      defines   std::vector<KernelInfo> NAME_kernels();   which the table calls
function(athanor_embed_kernels target)
  set(source_dir "${CMAKE_SOURCE_DIR}/src/kernels")
  set(out "${CMAKE_BINARY_DIR}/generated/kernels")
  file(GLOB shaders CONFIGURE_DEPENDS "${source_dir}/*/*.wgsl")
  file(GLOB doors CONFIGURE_DEPENDS "${source_dir}/*/*.cpp")

  set(generated "")
  set(shader_includes "")
  set(shader_texts "")
  foreach(shader ${shaders})
    get_filename_component(stem "${shader}" NAME_WE)
    set(cpp "${out}/${stem}_wgsl.cpp")
    add_custom_command(OUTPUT "${cpp}"
      COMMAND ${CMAKE_COMMAND} -DSHADER=${shader} -DSTEM=${stem} -DOUT=${cpp} -P "${CMAKE_SOURCE_DIR}/cmake/EmbedShader.cmake"
      DEPENDS "${shader}" "${CMAKE_SOURCE_DIR}/cmake/EmbedShader.cmake" VERBATIM)
    list(APPEND generated "${cpp}")
    string(APPEND shader_includes "#include \"kernels/wgsl/${stem}.h\"\n")
    string(APPEND shader_texts "      ${stem}_wgsl.text,\n")
    file(CONFIGURE OUTPUT "${out}/wgsl/${stem}.h" @ONLY CONTENT
"// Generated from ${stem}.wgsl.
#pragma once
#include \"device/webgpu/shader_source.h\"
namespace athanor::kernels {
extern const device::webgpu::ShaderSource ${stem}_wgsl;
}
")
  endforeach()

  set(declarations "")
  set(calls "")
  foreach(door ${doors})
    get_filename_component(folder "${door}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    get_filename_component(stem "${door}" NAME_WE)
    if(stem STREQUAL name)
      string(APPEND declarations "std::vector<KernelInfo> ${name}_kernels();\n")
      string(APPEND calls "  add(\"${name}\", ${name}_kernels());\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT "${out}/kernel_table.cpp" @ONLY CONTENT
"// Generated: every folder of src/kernels.
#include \"kernels/kernel_info.h\"

#include \"base/hash.h\"
${shader_includes}
namespace athanor::kernels {
${declarations}
std::vector<KernelInfo> all_kernels() {
  std::vector<KernelInfo> table;
  const auto add = [&](const char* folder, std::vector<KernelInfo> kernels) {
    for (KernelInfo& kernel : kernels) {
      kernel.folder = folder;
      table.push_back(std::move(kernel));
    }
  };
${calls}  return table;
}

std::string shaders_digest() {
  std::string all;
  for (const std::string_view text : {
${shader_texts}  }) {
    all += text;
    all += '\\0';
  }
  return hash_hex(std::as_bytes(std::span(all)));
}

}  // namespace athanor::kernels
")
  target_sources(${target} PRIVATE ${generated} "${out}/kernel_table.cpp")
  target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}/generated")
  set_source_files_properties(${generated} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
