// The two devices' versions of attention, behind its door, and the tiles that attention_decode shares for chunks of a prompt.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/launch.h"

namespace athanor::kernels {

/// The forward over queries that start anywhere in the keys: attention has first_position 0 and key_rows = length, a chunk of a
/// prompt has batch 1 and the cache's rows.
struct AttentionTiles {
  Buffer q;            // (B*T, H*D)
  Buffer k, v;         // (B*key_rows, Hkv*D)
  Buffer out;          // (B*T, H*D)
  Buffer log_sum_exp;  // (B*T, H); may be empty on the CPU
  int64_t batch = 0;
  int64_t length = 0;    // T: query rows of a batch entry
  int64_t key_rows = 0;  // rows of a batch entry in k and v; query t sees rows up to first_position + t
  int64_t first_position = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 1;
  int64_t window = 0;  // 0: none
  float soft_cap = 0;  // 0: none
  Buffer first_key{};  // (B*T) u32, or empty
};

/// What the tiles are called on WebGPU: as the kernel of its own name, or as a variant of attention_decode.
struct TileKernel {
  std::string_view kernel;
  std::string_view vec4_variant;
  std::string_view scalar_variant;
};

AttentionTiles tiles_of(const Attention& args);
/// Without out and log_sum_exp, which the backward only reads.
AttentionTiles tiles_of(const AttentionBackward& args);

void attention_tiles_cpu(device::cpu::CpuStream& stream, const AttentionTiles& args);
void attention_tiles_webgpu(device::webgpu::WebGpuStream& stream, const TileKernel& names, const AttentionTiles& args,
                            const device::KernelCost& cost);

void attention_backward_cpu(device::cpu::CpuStream& stream, const AttentionBackward& args);
void attention_backward_webgpu(device::webgpu::WebGpuStream& stream, const AttentionBackward& args,
                               const device::KernelCost& cost);

/// Splits so much work off for one launch: under 0.2 s on a device that reaches 20 GFLOP/s here, and 0.1 % of overhead on one that
/// reaches 10 TFLOP/s.
inline constexpr double kAttentionFlopsPerLaunch = 4e9;
/// Records the dispatch in as many launches as its work asks for; `first_group` is the place in its parameters of the number of groups
/// launched before, behind which that of the launch's own follows.
void dispatch_groups(device::webgpu::WebGpuStream& stream, device::webgpu::Dispatch dispatch, size_t first_group,
                     int64_t groups, const device::KernelCost& cost, double flops_per_launch);
/// statistics (B*T, H) vec2<f32>: (log_sum_exp, delta) of the rows.
Buffer backward_statistics(device::webgpu::WebGpuStream& stream, const AttentionBackward& args);

/// Throws unless the heads make whole groups and their width is one the kernels take.
void check_heads(std::string_view kernel, int64_t heads, int64_t kv_heads, int64_t head_dim);
/// Throws unless both are zero or positive and finite.
void check_window_and_cap(std::string_view kernel, int64_t window, float soft_cap);

/// Pairs of a query and a key that it sees, over all rows of a batch entry, as far as positions and window tell.
double seen_pairs(int64_t length, int64_t first_position, int64_t window);

device::KernelCost attention_cost(const Attention& args);
device::KernelCost attention_backward_cost(const AttentionBackward& args);

}  // namespace athanor::kernels
