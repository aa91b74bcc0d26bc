// For the tests of this folder: a tiny kernel (y += scale * x) and buffers of floats on any WebGPU device.
#pragma once

#include "device/webgpu/webgpu_stream.h"
#include "test_device.h"

#include <string_view>

namespace athanor::device::webgpu {

inline const ShaderSource kAddInto{"add_into", R"(
// 0 read x (n) f32, 1 read_write y (n) f32, 2 uniform (n, scale bits, _, _). Workgroup 64; folded grid.
struct Params { n: u32, scale: f32, unused_0: u32, unused_1: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let i = (group.x + group.y * groups.x) * 64u + thread;
  if (i < params.n) { y[i] = fma(x[i], params.scale, y[i]); }
}
)"};

inline Buffer buffer_of(Device& device, const std::vector<float>& values, std::string_view label = "values") {
  Buffer buffer = device.allocate(static_cast<int64_t>(values.size() * sizeof(float)), label);
  device.stream().upload(buffer, std::as_bytes(std::span(values)));
  return buffer;
}

inline std::vector<float> values_of(Device& device, const Buffer& buffer) {
  std::vector<float> values(static_cast<size_t>(buffer.size_bytes()) / sizeof(float));
  device.stream().download(buffer, std::as_writable_bytes(std::span(values)));
  return values;
}

/// y += scale * x.
inline Dispatch add_into(Device& device, const Buffer& x, const Buffer& y, float scale) {
  const auto n = static_cast<uint32_t>(y.size_bytes() / 4);
  Dispatch dispatch;
  dispatch.kernel = "add_into";
  dispatch.sources = {&kAddInto};
  dispatch.bindings = {read(x), read_write(y)};
  dispatch.params = {n, float_bits(scale), 0, 0};
  dispatch.grid = as_webgpu(device.stream()).fold((n + 63) / 64);
  dispatch.cost = {2.0 * n, 12.0 * n};
  return dispatch;
}

class WebGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!athanor::testing::is_webgpu()) GTEST_SKIP() << "ATHANOR_TEST_DEVICE names no WebGPU device";
  }
  Device& device() { return athanor::testing::device(); }
  WebGpuStream& stream() { return as_webgpu(device().stream()); }
  Buffer buffer_of(const std::vector<float>& values, std::string_view label = "values") {
    return webgpu::buffer_of(device(), values, label);
  }
  std::vector<float> values_of(const Buffer& buffer) { return webgpu::values_of(device(), buffer); }
  Dispatch add_into(const Buffer& x, const Buffer& y, float scale) { return webgpu::add_into(device(), x, y, scale); }
};

}  // namespace athanor::device::webgpu
