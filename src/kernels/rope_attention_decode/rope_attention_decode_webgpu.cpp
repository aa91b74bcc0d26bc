// rope_attention_decode in one launch through WebGPU: as many threads a head as the adapter has, up to one a row of the cache.
#include "kernels/rope_attention_decode/rope_attention_decode_internal.h"
#include "kernels/wgsl/rope_attention_decode.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

constexpr std::string_view kKernel = "rope_attention_decode";
constexpr uint32_t kThreads = 256;
// The wide form: its sums take 16 bytes a thread beside scores, query and key.
constexpr uint32_t kWideThreads = 1024;
constexpr uint32_t kWideMemory = 28 << 10;

bool takes_wide(const WebGpuStream& stream, const RopeAttentionDecode& args) {
  return args.position >= kThreads && stream.limits().max_threads_per_workgroup >= kWideThreads &&
         stream.limits().workgroup_memory_bytes >= kWideMemory && !stream.keeps_portable(kKernel);
}

}  // namespace

void rope_attention_decode_webgpu(WebGpuStream& stream, const RopeAttentionDecode& args,
                                  const device::KernelCost& cost) {
  const bool is_wide = takes_wide(stream, args);
  Dispatch dispatch;
  dispatch.kernel = kKernel;
  dispatch.variant = is_wide ? "wide" : "portable";
  dispatch.prelude = fmt::format("const THREADS: u32 = {}u;\nconst MOST_ROWS: u32 = {}u;\n",
                                 is_wide ? kWideThreads : kThreads, kMostRowsOfOneGroup);
  dispatch.sources = {&rope_attention_decode_wgsl};
  dispatch.bindings = {read(args.q),
                       read(args.k),
                       read(args.v),
                       read(args.table),
                       read_write(args.k_cache),
                       read_write(args.v_cache),
                       read_write(args.out)};
  dispatch.params = {to_u32(args.heads, kKernel), to_u32(args.kv_heads, kKernel), to_u32(args.head_dim / 4, kKernel),
                     to_u32(args.position, kKernel), float_bits(args.scale)};
  dispatch.grid = stream.fold(args.heads);
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
