// The two devices' versions of dropout, behind its doors, and the mask as both take it.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/dropout/dropout.h"
#include "kernels/launch.h"

namespace athanor::kernels {

struct DropoutMask {
  std::array<uint32_t, 2> key{};
  uint32_t step = 0;
  uint32_t layer = 0;
  uint32_t first_row = 0;
  uint32_t threshold = 0;  // p * 2^32; an element whose number is below it is dropped
  float scale = 1;         // 1 / (1 - p)
};

/// Throws Error if a part of the key, or a row, does not fit 32 bits.
DropoutMask dropout_mask(std::string_view kernel, const Dropout& args);

void dropout_cpu(device::cpu::CpuStream& stream, const Dropout& args, const DropoutMask& mask);
void dropout_webgpu(device::webgpu::WebGpuStream& stream, std::string_view kernel, const Dropout& args,
                    const DropoutMask& mask, const device::KernelCost& cost);

}  // namespace athanor::kernels
