// MLX's affine groups to f32 on the CPU: affine_dequantize, and the products that decode rows as they go.
#pragma once

#include "kernels/dequantize/affine_layout.h"

#include <cstdint>

namespace athanor::kernels {

/// out = q * scale + bias for `groups` groups from number `first` on, counted over all rows. q, scales, biases are the whole operands;
/// out receives groups * layout.group values.
void decode_affine_groups(const AffineLayout& layout, const uint8_t* q, const void* scales, const void* biases,
                          int64_t first, int64_t groups, float* out);

}  // namespace athanor::kernels
