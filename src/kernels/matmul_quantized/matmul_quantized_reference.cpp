// The quantised products as plain loops in double, with ggml's blocks read value by value, and the sizes they are tried at.
#include "kernels/matmul_quantized/matmul_quantized_reference.h"

#include "base/random.h"
#include "kernels/dequantize/dequantize_reference.h"
#include "kernels/matmul_quantized/weight_blocks.h"

#include <cstring>

namespace athanor::kernels {

namespace {

double half_of(const uint8_t* bytes) {
  return scales_reference({bytes[0] | static_cast<uint32_t>(bytes[1]) << 8}, 1, DType::F16)[0];
}

int signed_byte(uint8_t byte) { return byte < 128 ? byte : byte - 256; }

/// Scale or minimum number `i` of a Q4_K block: six bits, packed into twelve bytes.
int six_bits(const uint8_t* packed, int64_t i, bool minimum) {
  const int64_t offset = minimum ? 4 : 0;
  if (i < 4) return packed[i + offset] & 63;
  const int low = minimum ? packed[i + 4] >> 4 : packed[i + 4] & 15;
  return low | packed[i - 4 + offset] >> 6 << 4;
}

double q4_k_value(const uint8_t* block, int64_t i) {
  const int64_t part = i / 32;
  const uint8_t byte = block[16 + i / 64 * 32 + i % 32];
  const int q = part % 2 == 0 ? byte & 15 : byte >> 4;
  return half_of(block) * six_bits(block + 4, part, false) * q - half_of(block + 2) * six_bits(block + 4, part, true);
}

double q6_k_value(const uint8_t* block, int64_t i) {
  const int64_t half = i / 128;
  const int64_t row = i % 128 / 32;
  const uint8_t low = block[64 * half + 32 * (row % 2) + i % 32];
  const uint8_t high = block[128 + 32 * half + i % 32];
  const int q = (row < 2 ? low & 15 : low >> 4) | (high >> (2 * row) & 3) << 4;
  return half_of(block + 208) * signed_byte(block[192 + i / 16]) * (q - 32);
}

/// Value i of a block.
double block_value(WeightFormat format, const uint8_t* block, int64_t i) {
  const int64_t head = format == WeightFormat::Q4_1 ? 4 : 2;
  const int nibble = i < 16 ? block[head + i % 16] & 15 : block[head + i % 16] >> 4;
  switch (format) {
    case WeightFormat::Q8_0:
      return half_of(block) * signed_byte(block[2 + i]);
    case WeightFormat::Q4_0:
      return half_of(block) * (nibble - 8);
    case WeightFormat::Q4_1:
      return half_of(block) * nibble + half_of(block + 2);
    case WeightFormat::Q4_K:
      return q4_k_value(block, i);
    case WeightFormat::Q6_K:
      return q6_k_value(block, i);
    case WeightFormat::Affine:
      break;
  }
  fail("blocks_reference: affine groups have no blocks");
}

}  // namespace

std::vector<double> blocks_reference(WeightFormat format, const std::vector<uint8_t>& bytes, int64_t count) {
  const WeightBlocks& blocks = weight_blocks(format);
  std::vector<double> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = block_value(format, bytes.data() + i / blocks.values * blocks.bytes, i % blocks.values);
  }
  return values;
}

std::vector<double> quantized_product_reference(const std::vector<double>& x, const std::vector<double>& w, int64_t m,
                                                int64_t n, int64_t k) {
  std::vector<double> y(static_cast<size_t>(m * n));
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i) sum += x[row * k + i] * w[column * k + i];
      y[row * n + column] = sum;
    }
  }
  return y;
}

namespace {

struct Sizes {
  int64_t m;
  int64_t n;
  int64_t k;
  WeightFormat format;
  bool in_doctor;
  AffineLayout layout = {};
};

/// Where a block has its halves; every other byte of it may be anything.
std::vector<int64_t> half_offsets(WeightFormat format) {
  switch (format) {
    case WeightFormat::Q4_1:
    case WeightFormat::Q4_K:
      return {0, 2};
    case WeightFormat::Q6_K:
      return {208};
    default:
      return {0};
  }
}

/// Random blocks: every bit counts. Scales of both signs below 2^-13, every second one subnormal as a half.
std::vector<uint8_t> random_blocks(const Sizes& sizes) {
  const WeightBlocks& blocks = weight_blocks(sizes.format);
  std::vector<uint8_t> bytes(static_cast<size_t>(sizes.n * (sizes.k / blocks.values) * blocks.bytes));
  Random random(5, RandomStream::Test, 2);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next_u32() >> 24);
  for (size_t block = 0; block < bytes.size(); block += static_cast<size_t>(blocks.bytes)) {
    for (const int64_t offset : half_offsets(sizes.format)) bytes[block + offset + 1] &= 0x87;
  }
  return bytes;
}

/// Puts random weights of these sizes into args; returns their values.
std::vector<double> make_weights(device::Stream& stream, const Sizes& sizes, MatMulQuantized& args) {
  if (sizes.format != WeightFormat::Affine) {
    std::vector<uint8_t> bytes = random_blocks(sizes);
    std::vector<double> values = blocks_reference(sizes.format, bytes, sizes.n * sizes.k);
    std::vector<uint32_t> words(static_cast<size_t>(quantized_bytes(sizes.format, {}, sizes.n, sizes.k) / 4),
                                0xffffffffU);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    args.w = upload_values(stream, words);
    return values;
  }
  const AffineOperands operands = random_affine_operands(sizes.n, sizes.k, sizes.layout, 6);
  args.w = upload_values(stream, operands.q);
  args.scales = upload_values(stream, operands.scales);
  args.biases = upload_values(stream, operands.biases);
  const int64_t groups = sizes.n * sizes.k / sizes.layout.group;
  return affine_dequantize_reference(operands.q, scales_reference(operands.scales, groups, sizes.layout.scale_type),
                                     scales_reference(operands.biases, groups, sizes.layout.scale_type), sizes.layout);
}

CaseResult run_product(device::Stream& stream, const Sizes& sizes,
                       void (*product)(device::Stream&, const MatMulQuantized&)) {
  const std::vector<float> x = test_values(sizes.m * sizes.k, 7);
  MatMulQuantized args;
  args.m = sizes.m;
  args.n = sizes.n;
  args.k = sizes.k;
  args.format = sizes.format;
  args.layout = sizes.layout;
  const std::vector<double> w = make_weights(stream, sizes, args);
  args.x = upload_values(stream, x);
  args.y = poisoned(stream, sizes.m * sizes.n);
  product(stream, args);
  CaseResult result;
  compare(result, "y", download_values(stream, args.y),
          quantized_product_reference(to_double(x), w, sizes.m, sizes.n, sizes.k), allowed_f32(sizes.k));
  return result;
}

std::vector<KernelCase> product_cases(const std::vector<Sizes>& all,
                                      void (*product)(device::Stream&, const MatMulQuantized&)) {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : all) {
    const AffineLayout& layout = sizes.layout;
    const std::string format = sizes.format == WeightFormat::Affine
                                   ? fmt::format("groups of {}, {} scales", layout.group, name_of(layout.scale_type))
                                   : weight_blocks(sizes.format).name;
    cases.push_back({fmt::format("M {}, N {}, K {}, {}", sizes.m, sizes.n, sizes.k, format), sizes.in_doctor,
                     [sizes, product](device::Stream& stream) { return run_product(stream, sizes, product); }});
  }
  return cases;
}

}  // namespace

// Each format in tiles and with one row; the forms for up to four and eight rows with some. Numbers of rows around a tile of 64 and a
// workgroup's 16 columns, blocks at both alignments, rows longer and shorter than a step of 1024 values, a real layer.
std::vector<KernelCase> matmul_q8_cases() {
  constexpr WeightFormat kAffine = WeightFormat::Affine;
  return product_cases(
      {
          {1, 257, 1056, kAffine, true, {8, 32, DType::F16}},
          {3, 63, 128, kAffine, false, {8, 64, DType::BF16}},
          {5, 65, 384, kAffine, false, {8, 128, DType::F32}},
          {8, 33, 320, kAffine, false, {8, 64, DType::F16}},
          {65, 63, 64, kAffine, true, {8, 32, DType::F16}},
          {9, 257, 256, kAffine, false, {8, 128, DType::BF16}},
          {1, 3, 32, WeightFormat::Q8_0, false},
          {1, 65, 1120, WeightFormat::Q8_0, true},
          {7, 63, 96, WeightFormat::Q8_0, false},
          {63, 65, 96, WeightFormat::Q8_0, false},
          {1, 5, 256, WeightFormat::Q6_K, false},
          {1, 63, 1280, WeightFormat::Q6_K, true},
          {4, 65, 512, WeightFormat::Q6_K, false},
          {66, 67, 512, WeightFormat::Q6_K, false},
          {1, 2006, 768, WeightFormat::Q8_0, false},
      },
      matmul_q8);
}

std::vector<KernelCase> matmul_q4_cases() {
  constexpr WeightFormat kAffine = WeightFormat::Affine;
  return product_cases(
      {
          {1, 257, 1056, kAffine, true, {4, 32, DType::F16}},
          {2, 63, 128, kAffine, false, {4, 128, DType::BF16}},
          {8, 65, 384, kAffine, false, {4, 64, DType::F32}},
          {65, 63, 64, kAffine, true, {4, 32, DType::F16}},
          {257, 130, 128, kAffine, false, {4, 64, DType::F16}},
          {1, 3, 32, WeightFormat::Q4_0, false},
          {1, 65, 1120, WeightFormat::Q4_0, true},
          {5, 63, 96, WeightFormat::Q4_0, false},
          {63, 65, 96, WeightFormat::Q4_0, false},
          {1, 63, 1056, WeightFormat::Q4_1, false},
          {3, 5, 32, WeightFormat::Q4_1, false},
          {66, 3, 160, WeightFormat::Q4_1, false},
          {1, 5, 256, WeightFormat::Q4_K, false},
          {1, 63, 1280, WeightFormat::Q4_K, true},
          {6, 65, 768, WeightFormat::Q4_K, false},
          {67, 66, 512, WeightFormat::Q4_K, false},
          {1, 2304, 768, kAffine, false, {4, 64, DType::F16}},
      },
      matmul_q4);
}

}  // namespace athanor::kernels
