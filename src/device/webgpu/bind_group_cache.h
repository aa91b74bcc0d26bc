// Bind groups by layout and buffers: a training step binds the same ones again and again. The params' uniform is bound with a
// dynamic offset, so that it is part of every group and never changes it.
#pragma once

#include "device/webgpu/buffer_pool.h"
#include "device/webgpu/pipeline_cache.h"

#include <unordered_map>

namespace athanor::device::webgpu {

class BindGroupCache {
 public:
  /// More groups than a step of a large model has launches, so that a steady step makes none; each costs about a kilobyte.
  static constexpr size_t kMostGroups = 16384;

  BindGroupCache(Gpu& gpu, WGPUBuffer uniforms) : gpu_(gpu), uniforms_(uniforms) {}

  /// The bindings have been checked. batch numbers the batch that uses the group.
  WGPUBindGroup find(const Dispatch& dispatch, const BindingLayout& layout, uint64_t batch);
  /// Groups that name one of these buffers go.
  void forget(std::span<const uint64_t> buffer_ids);
  void close() { groups_.clear(); }
  size_t size() const { return groups_.size(); }

 private:
  struct Group {
    Owned<WGPUBindGroup> handle;
    uint64_t last_batch = 0;
  };
  /// (layout, then id, offset and size of each binding), as bytes.
  void write_key(const Dispatch& dispatch, const BindingLayout& layout);
  Owned<WGPUBindGroup> create(const Dispatch& dispatch, const BindingLayout& layout);
  void make_room(uint64_t batch);

  Gpu& gpu_;
  WGPUBuffer uniforms_;
  std::unordered_map<std::string, Group> groups_;
  std::string key_;
};

}  // namespace athanor::device::webgpu
