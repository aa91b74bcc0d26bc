// The two devices' versions of gelu, behind its doors.
#pragma once

#include "kernels/gelu/gelu.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void gelu_cpu(device::cpu::CpuStream& stream, const Gelu& args);
void gelu_backward_cpu(device::cpu::CpuStream& stream, const GeluBackward& args);
void gelu_webgpu(device::webgpu::WebGpuStream& stream, const Gelu& args, const device::KernelCost& cost);
void gelu_backward_webgpu(device::webgpu::WebGpuStream& stream, const GeluBackward& args,
                          const device::KernelCost& cost);

/// Operations of one value: a polynomial or two, an exponential, a division.
inline constexpr double kGeluFlops = 20;
inline constexpr double kGeluBackwardFlops = 25;

/// As the shaders' Params.form has it.
inline uint32_t form_word(GeluForm form) { return form == GeluForm::Erf ? 0U : 1U; }

}  // namespace athanor::kernels
