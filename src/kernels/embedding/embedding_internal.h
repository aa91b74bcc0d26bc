// The two devices' versions of embedding, behind its doors.
#pragma once

#include "kernels/embedding/embedding.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void embedding_cpu(device::cpu::CpuStream& stream, const Embedding& args);
void embedding_backward_cpu(device::cpu::CpuStream& stream, const EmbeddingBackward& args);
void embedding_webgpu(device::webgpu::WebGpuStream& stream, const Embedding& args, const device::KernelCost& cost);
void embedding_backward_webgpu(device::webgpu::WebGpuStream& stream, const EmbeddingBackward& args,
                               const device::KernelCost& cost);

}  // namespace athanor::kernels
