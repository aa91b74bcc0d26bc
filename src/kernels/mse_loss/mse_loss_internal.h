// The two devices' versions of mse_loss, behind its doors.
#pragma once

#include "kernels/launch.h"
#include "kernels/mse_loss/mse_loss.h"

namespace athanor::kernels {

void mse_loss_cpu(device::cpu::CpuStream& stream, const MseLoss& args);
void mse_loss_backward_cpu(device::cpu::CpuStream& stream, const MseLossBackward& args);
void mse_loss_webgpu(device::webgpu::WebGpuStream& stream, const MseLoss& args, const device::KernelCost& cost);
void mse_loss_backward_webgpu(device::webgpu::WebGpuStream& stream, const MseLossBackward& args,
                              const device::KernelCost& cost);

}  // namespace athanor::kernels
