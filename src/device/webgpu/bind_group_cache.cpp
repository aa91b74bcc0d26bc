// The cache is bounded: groups keep their buffers alive in the runtime.
#include "device/webgpu/bind_group_cache.h"

#include <cstring>
#include <unordered_set>

namespace athanor::device::webgpu {

namespace {

constexpr uint64_t kParamBytes = 128;  // 32 words

struct KeyPart {
  uint64_t id;
  int64_t offset_bytes;
  int64_t size_bytes;
};

}  // namespace

void BindGroupCache::write_key(const Dispatch& dispatch, const BindingLayout& layout) {
  key_.resize(sizeof(uint64_t) + dispatch.bindings.size() * sizeof(KeyPart));
  char* to = key_.data();
  std::memcpy(to, &layout.id, sizeof(uint64_t));
  to += sizeof(uint64_t);
  for (const Binding& binding : dispatch.bindings) {
    const KeyPart part{binding.buffer.storage()->id(), binding.buffer.offset_bytes(), binding.buffer.size_bytes()};
    std::memcpy(to, &part, sizeof(part));
    to += sizeof(part);
  }
}

WGPUBindGroup BindGroupCache::find(const Dispatch& dispatch, const BindingLayout& layout, uint64_t batch) {
  write_key(dispatch, layout);
  auto found = groups_.find(key_);
  if (found == groups_.end()) {
    if (groups_.size() >= kMostGroups) make_room(batch);
    found = groups_.emplace(key_, Group{create(dispatch, layout), batch}).first;
  }
  found->second.last_batch = batch;
  return found->second.handle.get();
}

Owned<WGPUBindGroup> BindGroupCache::create(const Dispatch& dispatch, const BindingLayout& layout) {
  std::vector<WGPUBindGroupEntry> entries(dispatch.bindings.size() + (dispatch.params.empty() ? 0 : 1),
                                          WGPUBindGroupEntry WGPU_BIND_GROUP_ENTRY_INIT);
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].binding = static_cast<uint32_t>(i);
    if (i < dispatch.bindings.size()) {
      const Buffer& buffer = dispatch.bindings[i].buffer;
      entries[i].buffer = static_cast<const WebGpuStorage&>(*buffer.storage()).pooled().handle.get();
      entries[i].offset = static_cast<uint64_t>(buffer.offset_bytes());
      entries[i].size = static_cast<uint64_t>(buffer.size_bytes());
    } else {
      entries[i].buffer = uniforms_;
      entries[i].offset = 0;
      entries[i].size = kParamBytes;
    }
  }
  WGPUBindGroupDescriptor description = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  description.label = view(dispatch.kernel);
  description.layout = layout.group.get();
  description.entryCount = entries.size();
  description.entries = entries.data();
  return {gpu_.api().DeviceCreateBindGroup(gpu_.device(), &description), gpu_.api().BindGroupRelease};
}

void BindGroupCache::make_room(uint64_t batch) {
  // Recorded work holds its own reference, so any group may go; those not used lately are the least missed.
  constexpr uint64_t kLately = 64;
  std::erase_if(groups_, [&](const auto& entry) { return entry.second.last_batch + kLately < batch; });
  if (groups_.size() >= kMostGroups) groups_.clear();
}

void BindGroupCache::forget(std::span<const uint64_t> buffer_ids) {
  if (buffer_ids.empty()) return;
  const std::unordered_set<uint64_t> gone(buffer_ids.begin(), buffer_ids.end());
  std::erase_if(groups_, [&](const auto& entry) {
    const std::string& key = entry.first;
    for (size_t at = sizeof(uint64_t); at < key.size(); at += sizeof(KeyPart)) {
      KeyPart part;
      std::memcpy(&part, key.data() + at, sizeof(part));
      if (gone.contains(part.id)) return true;
    }
    return false;
  });
}

}  // namespace athanor::device::webgpu
