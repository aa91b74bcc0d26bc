// The two devices' versions of adamw_8bit_update, behind its door, and the table of blocks that both read.
#pragma once

#include "kernels/adamw_8bit_update/adamw_8bit_update.h"
#include "kernels/launch.h"

namespace athanor::kernels {

/// One block as it lies in the table.
struct Adamw8bitBlock {
  uint32_t first = 0;
  uint32_t elements = 0;
  float weight_decay = 0;
  uint32_t unused = 0;
};
static_assert(sizeof(Adamw8bitBlock) == 16);

inline constexpr int64_t kCodeRows = 128;  // of four f32 at the table's beginning: 256 values of m's code, then of v's

void adamw_8bit_update_cpu(device::cpu::CpuStream& stream, const Adamw8bitUpdate& args);
void adamw_8bit_update_webgpu(device::webgpu::WebGpuStream& stream, const Adamw8bitUpdate& args,
                              const device::KernelCost& cost);

}  // namespace athanor::kernels
