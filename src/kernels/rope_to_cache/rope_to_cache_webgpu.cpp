// rope_to_cache through WebGPU: one pair of Values a thread.
#include "kernels/rope_to_cache/rope_to_cache_internal.h"
#include "kernels/wgsl/rope_to_cache.h"

namespace athanor::kernels {

using device::webgpu::read;
using device::webgpu::read_write;

namespace {

constexpr std::string_view kKernel = "rope_to_cache";
constexpr int64_t kThreads = 256;

}  // namespace

void rope_to_cache_webgpu(device::webgpu::WebGpuStream& stream, const RopeToCache& args,
                          const device::KernelCost& cost) {
  const bool is_wide = args.head_dim % 8 == 0;
  const int64_t half_dim = args.head_dim / (is_wide ? 8 : 2);  // in Values
  const int64_t pairs = args.rows * (args.heads + 2 * args.kv_heads) * half_dim;
  device::webgpu::Dispatch dispatch;
  dispatch.kernel = kKernel;
  dispatch.variant = is_wide ? "portable" : "scalar";
  dispatch.prelude = is_wide ? "alias Value = vec4<f32>;\n" : "alias Value = f32;\n";
  dispatch.sources = {&rope_to_cache_wgsl};
  dispatch.bindings = {read(args.q),
                       read(args.k),
                       read(args.v),
                       read(args.table),
                       read_write(args.rotated),
                       read_write(args.k_cache),
                       read_write(args.v_cache)};
  dispatch.params = {to_u32(pairs, kKernel), to_u32(args.heads, kKernel), to_u32(args.kv_heads, kKernel),
                     to_u32(half_dim, kKernel), to_u32(args.position, kKernel)};
  dispatch.grid = stream.fold(ceil_div(pairs, kThreads));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
