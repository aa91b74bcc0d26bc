// The two devices' versions of adamw_update, behind its door, and the table of blocks that both read.
#pragma once

#include "kernels/adamw_update/adamw_update.h"
#include "kernels/launch.h"

namespace athanor::kernels {

/// One block of kAdamwBlock elements as it lies in the table: two words.
struct AdamwBlock {
  float weight_decay = 0;
  uint32_t elements = 0;  // how many of its first elements belong to a tensor
};
static_assert(sizeof(AdamwBlock) == 8);

void adamw_update_cpu(device::cpu::CpuStream& stream, const AdamwUpdate& args);
void adamw_update_webgpu(device::webgpu::WebGpuStream& stream, const AdamwUpdate& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
