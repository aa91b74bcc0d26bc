// How MLX lays out quantised rows: unsigned integers packed into u32, with a scale and a bias for each group along the row.
#pragma once

#include "base/dtype.h"
#include "device/buffer.h"

#include <cstdint>
#include <string_view>

namespace athanor::kernels {

struct AffineLayout {
  int64_t bits = 4;               // of one integer: 4 or 8
  int64_t group = 64;             // values that share a scale and a bias: 32, 64 or 128
  DType scale_type = DType::F16;  // of scales and biases: F16, BF16 or F32, whichever type the model had before
};

/// Throws Error unless MLX has this layout and rows of `columns` values are whole groups.
void check_affine_layout(std::string_view kernel, const AffineLayout& layout, int64_t columns);

/// Throws Error unless the buffers hold exactly rows x columns values in this layout.
void check_affine_operands(std::string_view kernel, const AffineLayout& layout, const device::Buffer& q,
                           const device::Buffer& scales, const device::Buffer& biases, int64_t rows, int64_t columns);

/// Bytes of a buffer of `count` scales: whole u32, as shaders read them so.
int64_t affine_scale_bytes(const AffineLayout& layout, int64_t count);

/// The number that affine_scale.wgsl has for a type of scales.
uint32_t affine_scale_kind(DType scale_type);

/// Value of an IEEE half; exact.
float half_value(uint16_t half);

/// Scale or bias number `index` of a buffer's memory.
float affine_scale_at(const void* scales, int64_t index, DType scale_type);

}  // namespace athanor::kernels
