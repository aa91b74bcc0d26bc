// The two devices' versions of ema_update, behind its door.
#pragma once

#include "kernels/ema_update/ema_update.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void ema_update_cpu(device::cpu::CpuStream& stream, const EmaUpdate& args);
void ema_update_webgpu(device::webgpu::WebGpuStream& stream, const EmaUpdate& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
