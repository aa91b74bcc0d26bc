// rope through WebGPU: one pair of Values a thread.
#include "kernels/rope/rope_internal.h"
#include "kernels/wgsl/rope.h"

namespace athanor::kernels {

using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

constexpr int64_t kThreads = 256;

}  // namespace

void rope_webgpu(device::webgpu::WebGpuStream& stream, std::string_view kernel, const Rope& args, float sign,
                 const device::KernelCost& cost) {
  const bool is_wide = args.head_dim % 8 == 0;
  const int64_t half_dim = args.head_dim / (is_wide ? 8 : 2);  // in Values
  const int64_t pairs = args.rows * args.heads * half_dim;
  device::webgpu::Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.variant = is_wide ? "portable" : "scalar";
  dispatch.prelude = is_wide ? "alias Value = vec4<f32>;\n" : "alias Value = f32;\n";
  dispatch.sources = {&rope_wgsl};
  dispatch.bindings = {read(args.x), read(args.table), read_write(args.out)};
  dispatch.params = {to_u32(pairs, kernel),
                     to_u32(args.heads, kernel),
                     to_u32(half_dim, kernel),
                     to_u32(std::min(args.length, args.rows), kernel),
                     to_u32(args.first_position, kernel),
                     float_bits(sign)};
  dispatch.grid = stream.fold(ceil_div(pairs, kThreads));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
