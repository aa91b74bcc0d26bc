// The launch that elementwise kernels share on WebGPU: one Value a thread, four values wide where the count allows.
#pragma once

#include "kernels/launch.h"

namespace athanor::kernels {

/// A dispatch over `count` values in groups of 256 threads; the kernel adds its sources and bindings. Its shader finds `alias Value`
/// (vec4<f32>, or f32 for a count that is no multiple of four) and has the count in Values as its one parameter.
inline device::webgpu::Dispatch elementwise_dispatch(const device::webgpu::WebGpuStream& stream, const char* kernel,
                                                     int64_t count, const device::KernelCost& cost) {
  const bool wide = count % 4 == 0;
  const int64_t elements = wide ? count / 4 : count;
  device::webgpu::Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.variant = wide ? "portable" : "scalar";
  dispatch.prelude = wide ? "alias Value = vec4<f32>;\n" : "alias Value = f32;\n";
  dispatch.params = {to_u32(elements, kernel)};
  dispatch.grid = stream.fold(ceil_div(elements, 256));
  dispatch.cost = cost;
  return dispatch;
}

}  // namespace athanor::kernels
