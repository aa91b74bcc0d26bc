// The two devices' versions of adamw_update and adamw_update_f16, behind their doors, and what adamw_8bit_update shares with them.
#pragma once

#include "kernels/adamw_update/adamw_update.h"
#include "kernels/launch.h"

namespace athanor::kernels {

/// Throws Error when a number of the step is out of range.
void check_adamw_step(std::string_view kernel, const AdamwStep& step);

/// One step's numbers as the loops of the CPU device take them.
struct AdamwRates {
  float lr;
  float lr_corrected;  // lr / bias_correction1
  float gradient_scale;
  float beta1;
  float beta2;
  float one_minus_beta1;
  float one_minus_beta2;
  float inverse_root_correction2;  // 1 / sqrt(bias_correction2)
  float eps;
};
AdamwRates adamw_rates(const AdamwStep& step, float clip_scale);

/// One step of `count` elements in f32. CPU device.
void adamw_values(float* w, const float* g, float* m, float* v, int64_t count, float weight_decay,
                  const AdamwRates& rates);

/// The f16 mirror of the `count` weights from number `begin` on, an even number, brought up to date. CPU device.
void mirror_weights(const float* weights, uint32_t* mirror, int64_t begin, int64_t count);

void adamw_update_cpu(device::cpu::CpuStream& stream, const AdamwUpdate& args);
void adamw_update_f16_cpu(device::cpu::CpuStream& stream, const AdamwUpdateF16& args);
void adamw_update_webgpu(device::webgpu::WebGpuStream& stream, const AdamwUpdate& args, const device::KernelCost& cost);
void adamw_update_f16_webgpu(device::webgpu::WebGpuStream& stream, const AdamwUpdateF16& args,
                             const device::KernelCost& cost);

}  // namespace athanor::kernels
