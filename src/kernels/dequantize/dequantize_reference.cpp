// dequantize and affine_dequantize as plain loops in double, and the sizes they are tried at.
#include "kernels/dequantize/dequantize_reference.h"

#include "base/random.h"
#include "kernels/dequantize/dequantize.h"
#include "kernels/launch.h"

#include <bit>
#include <cmath>

namespace athanor::kernels {

namespace {

/// Value of an IEEE half by its definition.
double half_reference(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

std::vector<double> dequantize_reference(const std::vector<uint32_t>& q, int64_t count) {
  std::vector<double> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) out[i] = q[i / 4] >> (8 * (i % 4)) & 255;
  return out;
}

std::vector<double> scales_reference(const std::vector<uint32_t>& words, int64_t count, DType scale_type) {
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    if (scale_type == DType::F32) {
      values[i] = std::bit_cast<float>(words[i]);
    } else {
      const uint32_t bits = words[i / 2] >> (16 * (i % 2)) & 0xffff;
      values[i] = scale_type == DType::F16 ? half_reference(bits) : std::bit_cast<float>(bits << 16);
    }
  }
  return values;
}

std::vector<double> affine_dequantize_reference(const std::vector<uint32_t>& q, const std::vector<double>& scales,
                                                const std::vector<double>& biases, const AffineLayout& layout) {
  const auto bits = static_cast<size_t>(layout.bits);
  const auto group = static_cast<size_t>(layout.group);
  const size_t values_per_word = 32 / bits;
  std::vector<double> out(scales.size() * group);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint32_t value = q[i / values_per_word] >> (bits * (i % values_per_word)) & ((1U << bits) - 1);
    out[i] = value * scales[i / group] + biases[i / group];
  }
  return out;
}

AffineOperands random_affine_operands(int64_t rows, int64_t columns, const AffineLayout& layout, uint32_t seed) {
  Random random(seed, RandomStream::Test, 1);
  AffineOperands operands;
  operands.q.resize(static_cast<size_t>(rows * columns * layout.bits / 32));
  for (uint32_t& word : operands.q) word = random.next_u32();
  const int64_t count = rows * columns / layout.group;
  const auto scale_words = static_cast<size_t>(affine_scale_bytes(layout, count) / 4);
  // Of any sign and below 2^-13: as halves, every second one is subnormal. As bf16 or f32 between 2^-15 and 2^-13.
  const auto next_bits = [&]() -> uint32_t {
    const uint32_t bits = random.next_u32();
    const uint32_t exponent = bits >> 16 & 1;
    if (layout.scale_type == DType::F16) return (bits & 0x83ff) | exponent << 10;
    return (bits & 0x807f) | (exponent + 112) << 7;
  };
  for (std::vector<uint32_t>* scales : {&operands.scales, &operands.biases}) {
    scales->resize(scale_words);
    for (uint32_t& word : *scales) {
      const uint32_t low = next_bits();
      word = layout.scale_type == DType::F32 ? low << 16 | (random.next_u32() & 0xffff) : low | next_bits() << 16;
    }
  }
  return operands;
}

namespace {

CaseResult run_dequantize(device::Stream& stream, int64_t count) {
  Random random(1, RandomStream::Test);
  std::vector<uint32_t> q(static_cast<size_t>(ceil_div(count, 4)));
  for (uint32_t& word : q) word = random.next_u32();
  const Dequantize args{upload_values(stream, q), poisoned(stream, count), count};
  dequantize(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), dequantize_reference(q, count), allowed_f32(1));
  return result;
}

struct AffineSizes {
  int64_t rows;
  int64_t columns;
  AffineLayout layout;
  bool in_doctor;
};

// Both widths, the three groups and the three types of scales; odd numbers of groups, so that the last half stands alone in its u32.
const std::vector<AffineSizes> kAffineSizes = {
    {1, 32, {4, 32, DType::F16}, false},      {3, 160, {4, 32, DType::BF16}, true},
    {5, 64, {4, 64, DType::F16}, true},       {63, 64, {8, 64, DType::BF16}, false},
    {65, 384, {8, 128, DType::F32}, true},    {257, 96, {8, 32, DType::F16}, true},
    {1, 128, {4, 128, DType::F32}, false},    {1024, 768, {4, 64, DType::F16}, false},
    {343, 128, {8, 128, DType::BF16}, false},
};

CaseResult run_affine(device::Stream& stream, const AffineSizes& sizes) {
  const AffineOperands operands = random_affine_operands(sizes.rows, sizes.columns, sizes.layout, 2);
  const int64_t groups = sizes.rows * sizes.columns / sizes.layout.group;
  const AffineDequantize args{upload_values(stream, operands.q),
                              upload_values(stream, operands.scales),
                              upload_values(stream, operands.biases),
                              poisoned(stream, sizes.rows * sizes.columns),
                              sizes.rows,
                              sizes.columns,
                              sizes.layout};
  affine_dequantize(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out),
          affine_dequantize_reference(operands.q, scales_reference(operands.scales, groups, sizes.layout.scale_type),
                                      scales_reference(operands.biases, groups, sizes.layout.scale_type), sizes.layout),
          allowed_f32(1));
  return result;
}

}  // namespace

std::vector<KernelCase> dequantize_cases() {
  std::vector<KernelCase> cases;
  for (const int64_t count : {1, 3, 5, 63, 64, 65, 257, 1024, 2006, 2056, 786432}) {
    cases.push_back({fmt::format("count {}", count), count == 257 || count == 2056,
                     [count](device::Stream& stream) { return run_dequantize(stream, count); }});
  }
  return cases;
}

std::vector<KernelCase> affine_dequantize_cases() {
  std::vector<KernelCase> cases;
  for (const AffineSizes& sizes : kAffineSizes) {
    cases.push_back({fmt::format("rows {}, columns {}, {} bits, groups of {}, {} scales", sizes.rows, sizes.columns,
                                 sizes.layout.bits, sizes.layout.group, name_of(sizes.layout.scale_type)),
                     sizes.in_doctor, [sizes](device::Stream& stream) { return run_affine(stream, sizes); }});
  }
  return cases;
}

}  // namespace athanor::kernels
