// The two devices' versions of copy, behind its door. Dimensions have been joined: a contiguous copy has one of more than one element, the
// last, with strides of 1.
#pragma once

#include "kernels/copy/copy.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void copy_cpu(device::cpu::CpuStream& stream, const Copy& args);
void copy_webgpu(device::webgpu::WebGpuStream& stream, const Copy& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
