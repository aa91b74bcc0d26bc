// rope through WebGPU: one pair of values a thread.
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
  const int64_t pairs = args.rows * args.heads * (args.head_dim / 2);
  device::webgpu::Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.sources = {&rope_wgsl};
  dispatch.bindings = {read(args.x), read(args.table), read_write(args.out)};
  dispatch.params = {to_u32(pairs, kernel),
                     to_u32(args.heads, kernel),
                     to_u32(args.head_dim / 2, kernel),
                     to_u32(std::min(args.length, args.rows), kernel),
                     to_u32(args.first_position, kernel),
                     float_bits(sign)};
  dispatch.grid = stream.fold(ceil_div(pairs, kThreads));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
