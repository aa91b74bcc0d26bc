// The two devices' versions of sample, behind its door.
#pragma once

#include "kernels/launch.h"
#include "kernels/sample/sample.h"

#include <algorithm>

namespace athanor::kernels {

/// The search takes an index in three digits of 8 bits.
inline constexpr int64_t kMostSampleTokens = 1 << 24;

/// How many tokens top-k keeps; V when it keeps all.
inline int64_t kept_by_top_k(const Sample& args) {
  return args.top_k > 0 ? std::min(args.top_k, args.vocabulary) : args.vocabulary;
}

inline bool has_penalty(const Sample& args) { return args.repeat_penalty != 1 && args.previous_length > 0; }

void sample_cpu(device::cpu::CpuStream& stream, const Sample& args);
void sample_webgpu(device::webgpu::WebGpuStream& stream, const Sample& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
