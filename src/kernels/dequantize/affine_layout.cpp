// Checks of MLX's affine layouts, and their scales read on the host.
#include "kernels/dequantize/affine_layout.h"

#include "kernels/launch.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace athanor::kernels {

void check_affine_layout(std::string_view kernel, const AffineLayout& layout, int64_t columns) {
  check(layout.bits == 4 || layout.bits == 8, "{}: {} bits a value were given; pass 4 or 8", kernel, layout.bits);
  check(layout.group == 32 || layout.group == 64 || layout.group == 128,
        "{}: groups of {} values were given; pass 32, 64 or 128", kernel, layout.group);
  const bool known =
      layout.scale_type == DType::F16 || layout.scale_type == DType::BF16 || layout.scale_type == DType::F32;
  check(known, "{}: scales of type {} were given; pass F16, BF16 or F32", kernel, name_of(layout.scale_type));
  check(columns % layout.group == 0, "{}: rows of {} values are no whole groups of {}; quantise with a group that fits",
        kernel, columns, layout.group);
}

void check_affine_operands(std::string_view kernel, const AffineLayout& layout, const Buffer& q, const Buffer& scales,
                           const Buffer& biases, int64_t rows, int64_t columns) {
  check_affine_layout(kernel, layout, columns);
  check_size(kernel, "q", q, rows * columns * layout.bits / 32);
  const int64_t scale_words = affine_scale_bytes(layout, rows * columns / layout.group) / 4;
  check_size(kernel, "scales", scales, scale_words);
  check_size(kernel, "biases", biases, scale_words);
}

int64_t affine_scale_bytes(const AffineLayout& layout, int64_t count) {
  return ceil_div(count * size_of(layout.scale_type), 4) * 4;
}

uint32_t affine_scale_kind(DType scale_type) {
  return scale_type == DType::F16 ? 0 : (scale_type == DType::BF16 ? 1 : 2);
}

float half_value(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffU;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  float value = std::ldexp(static_cast<float>(magnitude), -24);  // below 2^-14: a multiple of the smallest half
  if (magnitude >= 0x7c00U) {
    value = std::bit_cast<float>(0x7f800000U | (magnitude & 0x3ffU) << 13);
  } else if (magnitude >= 0x400U) {
    value = std::bit_cast<float>((magnitude << 13) + 0x38000000U);  // the exponent's bias goes from 15 to 127
  }
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

float affine_scale_at(const void* scales, int64_t index, DType scale_type) {
  if (scale_type == DType::F32) return static_cast<const float*>(scales)[index];
  const uint16_t bits = static_cast<const uint16_t*>(scales)[index];
  return scale_type == DType::F16 ? half_value(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace athanor::kernels
