// For tests: a WebGPU stream in front of the one under test.
#pragma once

#include "device/webgpu/webgpu_stream.h"

#include <string>
#include <vector>

namespace athanor::kernels {

/// All but launches and what the adapter can goes to the stream behind it, of a device of any kind.
class StreamInFront : public device::webgpu::WebGpuStream {
 public:
  explicit StreamInFront(device::Stream& stream) : stream_(stream) {}

  device::Device& device() override { return stream_.device(); }
  void upload(const device::Buffer& to, std::span<const std::byte> bytes) override { stream_.upload(to, bytes); }
  void download(const device::Buffer& from, std::span<std::byte> bytes) override { stream_.download(from, bytes); }
  std::unique_ptr<device::Readback> read_later(const device::Buffer& from) override { return stream_.read_later(from); }
  void copy(const device::Buffer& from, const device::Buffer& to) override { stream_.copy(from, to); }
  void fill_zero(const device::Buffer& to) override { stream_.fill_zero(to); }
  void submit() override { stream_.submit(); }
  void wait() override { stream_.wait(); }
  void set_profiling(bool on) override { stream_.set_profiling(on); }
  std::vector<device::KernelLaunch> take_launches() override { return stream_.take_launches(); }

 private:
  device::Stream& stream_;
};

/// Keeps what is dispatched instead of running it.
class WatchedStream final : public StreamInFront {
 public:
  using StreamInFront::StreamInFront;

  std::vector<device::webgpu::Dispatch> dispatches;
  device::webgpu::KernelNames portable;
  std::vector<device::webgpu::SubgroupMatrix> matrices;  // what the adapter claims to have
  device::webgpu::Limits given;                          // WebGPU's default limits

  const device::webgpu::Limits& limits() const override { return given; }
  bool has_f16() const override { return false; }
  bool has_subgroups() const override { return false; }
  std::span<const device::webgpu::SubgroupMatrix> subgroup_matrices() const override { return matrices; }
  const device::webgpu::KernelNames& portable_kernels() const override { return portable; }
  void dispatch(const device::webgpu::Dispatch& dispatch) override { dispatches.push_back(dispatch); }
  void set_max_workgroups(uint32_t limit) override { given.max_workgroups_per_dimension = limit; }
};

}  // namespace athanor::kernels
