// The two devices' versions of sgd_update, behind its door.
#pragma once

#include "kernels/launch.h"
#include "kernels/sgd_update/sgd_update.h"

namespace athanor::kernels {

void sgd_update_cpu(device::cpu::CpuStream& stream, const SgdUpdate& args);
void sgd_update_webgpu(device::webgpu::WebGpuStream& stream, const SgdUpdate& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
