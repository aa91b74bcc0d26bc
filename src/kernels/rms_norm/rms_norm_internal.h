// The two devices' versions of rms_norm, behind its doors, in the form that rms_norm_residual shares.
#pragma once

#include <vector>

#include "kernels/launch.h"
#include "kernels/rms_norm/rms_norm.h"

namespace athanor::kernels {

/// residual and y: with both, y = x + residual is written and takes the place of x.
void rms_norm_cpu(device::cpu::CpuStream& stream, const RmsNorm& args, const float* residual = nullptr,
                  float* y = nullptr);
/// d_y: a gradient that reaches x past the norm, added to d_x; or nullptr.
void rms_norm_backward_cpu(device::cpu::CpuStream& stream, const RmsNormBackward& args, const float* d_y = nullptr);

void rms_norm_webgpu(device::webgpu::WebGpuStream& stream, const RmsNorm& args, const device::KernelCost& cost);
void rms_norm_backward_webgpu(device::webgpu::WebGpuStream& stream, const RmsNormBackward& args,
                              const device::KernelCost& cost);

/// What a kernel joined with rms_norm_rows or rms_norm_backward_rows has of its own.
struct NormForm {
  const char* kernel;
  const device::webgpu::ShaderSource* bindings;   // joined last
  std::vector<device::webgpu::Binding> operands;  // forward: all; backward: those that are read
  bool adds_d_y = false;                          // backward: the last operand is d_y
};
void launch_rms_norm(device::webgpu::WebGpuStream& stream, const NormForm& form, const RmsNorm& args,
                     const device::KernelCost& cost);
void launch_rms_norm_backward(device::webgpu::WebGpuStream& stream, const NormForm& form, const RmsNormBackward& args,
                              const device::KernelCost& cost);

}  // namespace athanor::kernels
