// Layouts are written out from the list of bindings, not inferred from the shader, so that kernels share them and a binding that a
// variant does not read is allowed.
#include "device/webgpu/pipeline_cache.h"

#include "device/webgpu/shader_text.h"

namespace athanor::device::webgpu {

void PipelineCache::write_key(const Dispatch& dispatch) {
  signature_.clear();
  for (const Binding& binding : dispatch.bindings) signature_ += binding.access == Access::Read ? 'r' : 'w';
  if (!dispatch.params.empty()) signature_ += 'u';

  key_.clear();
  for (const ShaderSource* source : dispatch.sources) {
    key_.append(reinterpret_cast<const char*>(&source), sizeof(source));
  }
  key_ += signature_;
  key_ += dispatch.needs_f16 ? 'h' : '-';
  key_ += dispatch.needs_subgroups ? 's' : '-';
  key_ += dispatch.needs_subgroup_matrix ? 'm' : '-';
  key_ += dispatch.entry_point;
  key_ += '\0';
  key_ += dispatch.prelude;
}

const Pipeline& PipelineCache::find(const Dispatch& dispatch) {
  write_key(dispatch);
  const auto found = pipelines_.find(key_);
  if (found != pipelines_.end()) return found->second;
  return pipelines_.emplace(key_, compile(dispatch)).first->second;
}

void PipelineCache::close() {
  pipelines_.clear();
  layouts_.clear();
}

const BindingLayout& PipelineCache::layout_for(const Dispatch& dispatch) {
  const auto found = layouts_.find(signature_);
  if (found != layouts_.end()) return found->second;

  std::vector<WGPUBindGroupLayoutEntry> entries(signature_.size(),
                                                WGPUBindGroupLayoutEntry WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT);
  for (size_t i = 0; i < entries.size(); ++i) {
    WGPUBindGroupLayoutEntry& entry = entries[i];
    entry.binding = static_cast<uint32_t>(i);
    entry.visibility = WGPUShaderStage_Compute;
    entry.buffer.type = signature_[i] == 'r'   ? WGPUBufferBindingType_ReadOnlyStorage
                        : signature_[i] == 'w' ? WGPUBufferBindingType_Storage
                                               : WGPUBufferBindingType_Uniform;
    entry.buffer.hasDynamicOffset = signature_[i] == 'u' ? WGPU_TRUE : WGPU_FALSE;
  }
  WGPUBindGroupLayoutDescriptor group = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
  group.label = view(dispatch.kernel);
  group.entryCount = entries.size();
  group.entries = entries.data();
  BindingLayout layout;
  layout.id = layouts_.size() + 1;
  const std::string errors = gpu_.errors_of([&] {
    layout.group = {gpu_.api().DeviceCreateBindGroupLayout(gpu_.device(), &group), gpu_.api().BindGroupLayoutRelease};
    const WGPUBindGroupLayout handle = layout.group.get();
    WGPUPipelineLayoutDescriptor pipeline = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
    pipeline.label = view(dispatch.kernel);
    pipeline.bindGroupLayoutCount = 1;
    pipeline.bindGroupLayouts = &handle;
    layout.pipeline = {gpu_.api().DeviceCreatePipelineLayout(gpu_.device(), &pipeline),
                       gpu_.api().PipelineLayoutRelease};
  });
  check(errors.empty(), "{}: {} refuses its {} bindings: {}", dispatch.kernel, gpu_.info().name, entries.size(),
        errors);
  return layouts_.emplace(signature_, std::move(layout)).first->second;
}

Owned<WGPUShaderModule> PipelineCache::create_module(const Dispatch& dispatch) {
  const std::string text = shader_text(dispatch, gpu_.api().is_dawn);
  WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
  source.code = view(text);
  WGPUShaderModuleDescriptor description = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
  description.nextInChain = &source.chain;
  description.label = view(dispatch.kernel);
  const Api& api = gpu_.api();
  Owned<WGPUShaderModule> module;
  const std::string errors = gpu_.errors_of([&] {
    const bool trusted = api.DeviceCreateShaderModuleTrusted != nullptr && !gpu_.is_checked();
    module = {trusted ? api.DeviceCreateShaderModuleTrusted(gpu_.device(), &description, WGPUShaderRuntimeChecks_None)
                      : api.DeviceCreateShaderModule(gpu_.device(), &description),
              api.ShaderModuleRelease};
  });
  check(errors.empty(),
        "{}: its shader is refused by {}: {}; update the driver or the WebGPU library, or use --device cpu",
        dispatch.kernel, api.path, errors);
  return module;
}

Pipeline PipelineCache::compile(const Dispatch& dispatch) {
  check(!dispatch.needs_f16 || gpu_.has_f16(),
        "{}: this variant needs shader-f16, which {} does not offer; use the one without", dispatch.kernel,
        gpu_.info().name);
  check(!dispatch.needs_subgroups || gpu_.has_subgroups(),
        "{}: this variant needs subgroups, which {} does not offer; use the one without", dispatch.kernel,
        gpu_.info().name);
  check(!dispatch.needs_subgroup_matrix || !gpu_.subgroup_matrices().empty(),
        "{}: this variant needs subgroup matrices, which {} does not offer; use the one without", dispatch.kernel,
        gpu_.info().name);
  Pipeline pipeline;
  pipeline.layout = &layout_for(dispatch);
  const Owned<WGPUShaderModule> module = create_module(dispatch);

  WGPUComputePipelineDescriptor description = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  description.label = view(dispatch.kernel);
  description.layout = pipeline.layout->pipeline.get();
  description.compute.module = module.get();
  description.compute.entryPoint = view(dispatch.entry_point);
  const std::string errors = gpu_.errors_of([&] {
    pipeline.handle = {gpu_.api().DeviceCreateComputePipeline(gpu_.device(), &description),
                       gpu_.api().ComputePipelineRelease};
  });
  check(errors.empty(),
        "{}: its pipeline is refused by {}: {}; update the driver or the WebGPU library, or use --device cpu",
        dispatch.kernel, gpu_.api().path, errors);
  return pipeline;
}

}  // namespace athanor::device::webgpu
