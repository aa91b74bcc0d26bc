// The door of every kernel: the caller has checked the shapes; this runs the version of the stream's device.
#pragma once

#include "device/cpu/cpu_stream.h"
#include "device/device.h"
#include "device/webgpu/webgpu_stream.h"

#include <limits>
#include <string_view>

namespace athanor::kernels {

using device::Buffer;
using device::Stream;

template <typename OnCpu, typename OnWebGpu>
void launch(Stream& stream, std::string_view kernel, const device::KernelCost& cost, OnCpu on_cpu, OnWebGpu on_webgpu) {
  if (stream.backend() == device::Backend::Cpu) {
    device::cpu::CpuStream& cpu = device::cpu::as_cpu(stream);
    device::cpu::KernelTimer timer(cpu, kernel, cost);
    on_cpu(cpu);
  } else {
    device::webgpu::WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
    webgpu.enter(kernel, cost);
    on_webgpu(webgpu);
  }
}

/// Throws unless the buffer holds exactly `count` values of `bytes_each` bytes.
inline void check_size(std::string_view kernel, std::string_view operand, const Buffer& buffer, int64_t count,
                       int64_t bytes_each = 4) {
  check(static_cast<bool>(buffer), "{}: {} is missing; pass a buffer of {} values", kernel, operand, count);
  check(buffer.size_bytes() == count * bytes_each, "{}: {} has {} bytes but {} values of {} bytes are needed", kernel,
        operand, buffer.size_bytes(), count, bytes_each);
}

/// A size on its way to a shader, which counts in 32 bits.
inline uint32_t to_u32(int64_t value, std::string_view kernel) {
  check(value >= 0 && value <= std::numeric_limits<uint32_t>::max(),
        "{}: a size of {} does not fit the 32 bits of a shader; split it", kernel, value);
  return static_cast<uint32_t>(value);
}

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace athanor::kernels
