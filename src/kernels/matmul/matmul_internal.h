// The two devices' versions of the matrix products, behind their door, and what both call them.
#pragma once

#include "kernels/launch.h"
#include "kernels/matmul/matmul.h"

namespace athanor::kernels {

/// Up to this many rows of X a product is bound by reading W once, not by arithmetic (decoding), and has a kernel of
/// its own shape.
inline constexpr int64_t kFewRows = 8;

/// Names in profiles and errors.
inline const char* matmul_name(const MatMul& args) {
  return args.accumulate == Accumulate::Yes ? "matmul_acc" : "matmul";
}
inline const char* matmul_t_name(const MatMul& args) {
  return args.accumulate == Accumulate::Yes ? "matmul_t_acc" : "matmul_t";
}
inline const char* matmul_at_name(const MatMulAt& args) {
  return args.accumulate == Accumulate::Yes ? "matmul_at_acc" : "matmul_at";
}
inline const char* matmul_at_swiglu_a_name(const MatMulAtSwiglu& args) {
  return args.accumulate == Accumulate::Yes ? "matmul_at_acc_swiglu_a" : "matmul_at_swiglu_a";
}

void matmul_cpu(device::cpu::CpuStream& stream, const MatMul& args);
void matmul_t_cpu(device::cpu::CpuStream& stream, const MatMul& args);
void matmul_at_cpu(device::cpu::CpuStream& stream, const MatMulAt& args);
void matmul_swiglu_a_cpu(device::cpu::CpuStream& stream, const MatMulSwiglu& args);
void matmul_at_swiglu_a_cpu(device::cpu::CpuStream& stream, const MatMulAtSwiglu& args);

void matmul_webgpu(device::webgpu::WebGpuStream& stream, const MatMul& args);
void matmul_t_webgpu(device::webgpu::WebGpuStream& stream, const MatMul& args);
void matmul_at_webgpu(device::webgpu::WebGpuStream& stream, const MatMulAt& args);
void matmul_swiglu_a_webgpu(device::webgpu::WebGpuStream& stream, const MatMulSwiglu& args);
void matmul_at_swiglu_a_webgpu(device::webgpu::WebGpuStream& stream, const MatMulAtSwiglu& args);

}  // namespace athanor::kernels
