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
  int64_t length = 0;    // T: query rows of a batch
  int64_t key_rows = 0;  // rows of a batch in k and v; query t sees rows 0 .. first_position + t
  int64_t first_position = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 1;
};

void attention_tiles_cpu(device::cpu::CpuStream& stream, const AttentionTiles& args);
void attention_tiles_webgpu(device::webgpu::WebGpuStream& stream, std::string_view kernel, const AttentionTiles& args,
                            const device::KernelCost& cost);

void attention_backward_cpu(device::cpu::CpuStream& stream, const AttentionBackward& args);
void attention_backward_webgpu(device::webgpu::WebGpuStream& stream, const AttentionBackward& args,
                               const device::KernelCost& cost);

/// Throws unless the heads make whole groups and their width is one the kernels take.
void check_heads(std::string_view kernel, int64_t heads, int64_t kv_heads, int64_t head_dim);

}  // namespace athanor::kernels
