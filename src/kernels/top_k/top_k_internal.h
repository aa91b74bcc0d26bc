// The two devices' versions of top_k, behind its door.
#pragma once

#include "kernels/launch.h"
#include "kernels/top_k/top_k.h"

namespace athanor::kernels {

/// The search takes an index in two digits of 11 bits.
inline constexpr int64_t kMostTopKColumns = 1 << 22;

void top_k_cpu(device::cpu::CpuStream& stream, const TopK& args);
void top_k_webgpu(device::webgpu::WebGpuStream& stream, const TopK& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
