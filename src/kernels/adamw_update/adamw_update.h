// AdamW over a slab: all tensors of one kind in one buffer, one launch.
#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"

namespace athanor::kernels {

inline constexpr int64_t kAdamwBlock = 64;  // elements (256 bytes): tensors begin at multiples of it within a slab

/// One tensor of a slab.
struct AdamwSegment {
  uint32_t begin = 0;  // elements within the slab, a multiple of kAdamwBlock
  uint32_t end = 0;
  float weight_decay = 0;
};

/// The table of segments on the device: for each block of kAdamwBlock elements its weight decay and how many of its elements belong
/// to a tensor. Throws Error for no segments, a begin that is no multiple, an empty segment, two that share a block, or a decay that
/// is not a finite number of at least 0.
device::Buffer upload_segments(device::Stream& stream, std::span<const AdamwSegment> segments);

struct AdamwUpdate {
  device::Buffer weights;    // (count) f32, in and out
  device::Buffer gradients;  // (count) f32
  device::Buffer m;          // (count) f32, in and out; zeros before the first step
  device::Buffer v;          // (count) f32, in and out; zeros before the first step
  device::Buffer segments;   // from upload_segments
  device::Buffer
      stats;  // (4) f32 from finalize_grad_stats: gradients are multiplied by the clip scale; flag set: nothing changes
  int64_t count = 0;
  float lr = 0;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float one_minus_beta1 = 0.1F;  // from the host in double, as 1 - beta loses digits in f32
  float one_minus_beta2 = 0.001F;
  float eps = 1e-8F;
  float bias_correction1 = 1;  // 1 - beta1^t, t the number of applied steps with this one
  float bias_correction2 = 1;
};

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w -= lr decay w, w -= lr (m / bias_correction1) /
/// (sqrt(v / bias_correction2) + eps). Elements outside all segments are not touched. Moments too small for a normal f32 become 0.
/// Throws Error if a buffer's size is not as in AdamwUpdate. Source: Loshchilov and Hutter 2019, arXiv:1711.05101.
void adamw_update(device::Stream& stream, const AdamwUpdate& args);

}  // namespace athanor::kernels
