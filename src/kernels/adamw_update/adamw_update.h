// AdamW over a slab: all tensors of one kind in one buffer, one launch.
#pragma once

#include "kernels/segments/segments.h"

namespace athanor::kernels {

/// The numbers of one AdamW step, the same for all tensors.
struct AdamwStep {
  float lr = 0;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float one_minus_beta1 = 0.1F;  // from the host in double, as 1 - beta loses digits in f32
  float one_minus_beta2 = 0.001F;
  float eps = 1e-8F;
  float bias_correction1 = 1;  // 1 - beta1^t, t the number of applied steps with this one
  float bias_correction2 = 1;
};

struct AdamwUpdate : AdamwStep {
  device::Buffer weights;    // (count) f32, in and out
  device::Buffer gradients;  // (count) f32
  device::Buffer m;          // (count) f32, in and out; zeros before the first step
  device::Buffer v;          // (count) f32, in and out; zeros before the first step
  device::Buffer segments;   // from upload_segments
  device::Buffer
      stats;  // (4) f32 from finalize_grad_stats: gradients are multiplied by the clip scale; flag set: nothing changes
  int64_t count = 0;
};

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w -= lr decay w, w -= lr (m / bias_correction1) /
/// (sqrt(v / bias_correction2) + eps). Elements outside all segments are not touched. Moments too small for a normal f32 become 0.
/// Throws Error if a buffer's size is not as in AdamwUpdate. Source: Loshchilov and Hutter 2019, arXiv:1711.05101.
void adamw_update(device::Stream& stream, const AdamwUpdate& args);

struct AdamwUpdateF16 : AdamwUpdate {
  device::Buffer mirror;  // (half_words(count)) u32, two halves each: the weights as f16, written wherever a weight is
};

/// adamw_update that writes each new weight into the mirror too, rounded as fp32_to_fp16 does it, in the same launch.
/// Throws Error if a buffer's size is not as in AdamwUpdateF16.
void adamw_update_f16(device::Stream& stream, const AdamwUpdateF16& args);

}  // namespace athanor::kernels
