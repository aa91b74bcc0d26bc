// The small passes of muon_update between the matrix products, for both devices.
#pragma once

#include "kernels/launch.h"
#include "kernels/muon_update/muon_update.h"

namespace athanor::kernels {

inline constexpr int kMuonSteps = 5;
inline constexpr double kMuonA = 3.4445;
inline constexpr double kMuonB = -4.775;
inline constexpr double kMuonC = 2.0315;
inline constexpr double kMuonEps = 1e-7;

/// w = keep w - step x.
struct MuonApply {
  Buffer weights;
  Buffer direction;
  Buffer stats;
  int64_t count;
  float keep;
  float step;
};

void muon_momentum_cpu(device::cpu::CpuStream& stream, const MuonUpdate& args, const Buffer& x);
void muon_normalize_cpu(device::cpu::CpuStream& stream, const Buffer& x, const Buffer& norm);
void muon_polynomial_cpu(device::cpu::CpuStream& stream, const Buffer& gram, const Buffer& square, int64_t n);
void muon_apply_cpu(device::cpu::CpuStream& stream, const MuonApply& args);

void muon_momentum_webgpu(device::webgpu::WebGpuStream& stream, const MuonUpdate& args, const Buffer& x,
                          const device::KernelCost& cost);
void muon_normalize_webgpu(device::webgpu::WebGpuStream& stream, const Buffer& x, const Buffer& norm,
                           const device::KernelCost& cost);
void muon_polynomial_webgpu(device::webgpu::WebGpuStream& stream, const Buffer& gram, const Buffer& square, int64_t n,
                            const device::KernelCost& cost);
void muon_apply_webgpu(device::webgpu::WebGpuStream& stream, const MuonApply& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
