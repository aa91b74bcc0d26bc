// The quantised products: wrong use, long grids, the cut into bindings, and ggml's blocks as another program reads them. The cases against
// the plain loop run in kernels/cases_test.cpp.
#include "kernels/matmul_quantized/matmul_quantized.h"

#include "base/safetensors.h"
#include "kernels/kernel_info.h"
#include "kernels/matmul_quantized/matmul_quantized_internal.h"
#include "kernels/matmul_quantized/matmul_quantized_reference.h"
#include "kernels/matmul_quantized/weight_blocks.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MatMulQuantized, RefusesTheOtherKernelsFormats) {
  device::Stream& stream = testing::stream();
  MatMulQuantized args;
  args.format = WeightFormat::Q4_K;
  EXPECT_THAT(message_of([&] { matmul_q8(stream, args); }), HasSubstr("matmul_q8: the weights have four bits"));
  args.format = WeightFormat::Q6_K;
  EXPECT_THAT(message_of([&] { matmul_q4(stream, args); }), HasSubstr("matmul_q4: the weights have more than four"));
}

TEST(MatMulQuantized, RefusesRowsThatAreNoWholeBlocks) {
  device::Stream& stream = testing::stream();
  MatMulQuantized args;
  args.m = 1;
  args.n = 3;
  args.k = 288;
  args.format = WeightFormat::Q6_K;
  EXPECT_THAT(message_of([&] { matmul_q8(stream, args); }),
              HasSubstr("matmul_q8: rows of 288 values are no whole q6_k blocks of 256"));
  args.format = WeightFormat::Affine;
  args.layout.bits = 4;
  EXPECT_THAT(message_of([&] { matmul_q4(stream, args); }),
              HasSubstr("matmul_q4: rows of 288 values are no whole groups of 64"));
}

TEST(MatMulQuantized, RefusesAWeightOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  MatMulQuantized args;
  EXPECT_THAT(message_of([&] { matmul_q4(stream, args); }), HasSubstr("M 0, N 0, K 0 were given"));
  args.m = 1;
  args.n = 3;
  args.k = 32;
  args.format = WeightFormat::Q8_0;
  args.w = poisoned(stream, 25);  // three blocks of 34 bytes are 26 words
  EXPECT_THAT(message_of([&] { matmul_q8(stream, args); }),
              HasSubstr("matmul_q8: w has 100 bytes but 104 values of 1 bytes"));
}

TEST(MatMulQuantized, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 5);
  for (const std::vector<KernelCase>& cases : {matmul_q8_cases(), matmul_q4_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (!kernel_case.in_doctor) continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

std::vector<uint8_t> bytes_of(const TensorEntry& entry) {
  std::vector<uint8_t> bytes(entry.bytes.size());
  std::memcpy(bytes.data(), entry.bytes.data(), bytes.size());
  return bytes;
}

std::vector<float> floats_of(const TensorEntry& entry) {
  std::vector<float> values(static_cast<size_t>(entry.num_elements()));
  std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

// tests/golden/make_quantized_golden.py: random blocks and the values that ggml's own Python package finds in them.
TEST(MatMulQuantized, ReadsBlocksAsGgmlDoes) {
  const SafetensorsFile golden(std::filesystem::path(ATHANOR_SOURCE_DIR) / "tests/golden/quantized.safetensors");
  for (const WeightFormat format :
       {WeightFormat::Q8_0, WeightFormat::Q6_K, WeightFormat::Q4_0, WeightFormat::Q4_1, WeightFormat::Q4_K}) {
    const std::string name = weight_blocks(format).name;
    const TensorEntry& values = golden.at(name + ".values");
    const std::vector<double> read =
        blocks_reference(format, bytes_of(golden.at(name + ".blocks")), values.num_elements());
    CaseResult result;
    compare(result, name, floats_of(values), read, allowed_f32(1));
    EXPECT_TRUE(result.passed()) << result.where;
  }
}

// The identity as X gives the weights themselves, one value a sum: every place of every format, exactly where the products read it.
TEST(MatMulQuantized, GivesTheWeightsThemselvesForTheIdentity) {
  const SafetensorsFile golden(std::filesystem::path(ATHANOR_SOURCE_DIR) / "tests/golden/quantized.safetensors");
  device::Stream& stream = testing::stream();
  MatMulQuantized args;
  args.m = 512;
  args.n = 3;
  args.k = 512;
  std::vector<float> identity(512 * 512);
  for (size_t i = 0; i < 512; ++i) identity[i * 513] = 1;
  args.x = upload_values(stream, identity);
  args.y = poisoned(stream, args.m * args.n);
  for (const WeightFormat format :
       {WeightFormat::Q8_0, WeightFormat::Q6_K, WeightFormat::Q4_0, WeightFormat::Q4_1, WeightFormat::Q4_K}) {
    const std::vector<uint8_t> bytes = bytes_of(golden.at(fmt::format("{}.blocks", weight_blocks(format).name)));
    std::vector<uint32_t> words((bytes.size() + 3) / 4);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    args.format = format;
    args.w = upload_values(stream, words);
    weight_blocks(format).four_bits ? matmul_q4(stream, args) : matmul_q8(stream, args);
    const std::vector<double> read = blocks_reference(format, bytes, args.n * args.k);
    std::vector<double> want(read.size());
    for (int64_t row = 0; row < args.n; ++row) {
      for (int64_t i = 0; i < args.k; ++i) want[i * args.n + row] = read[row * args.k + i];
    }
    CaseResult result;
    compare(result, weight_blocks(format).name, download_values(stream, args.y), want, allowed_f32(1));
    EXPECT_TRUE(result.passed()) << result.where;
  }
}

TEST(MatMulQuantized, AProductIsCutWhereItsOperandsExceedABinding) {
  device::Stream& stream = testing::stream();
  if (stream.backend() != device::Backend::WebGpu) return;  // the CPU has no bindings
  MatMulQuantized args;
  args.m = 130;
  args.n = 300;
  args.k = 32;
  args.format = WeightFormat::Q8_0;
  const std::vector<float> x = test_values(args.m * args.k, 1);
  std::vector<uint32_t> words(static_cast<size_t>(quantized_bytes(args.format, {}, args.n, args.k) / 4));
  std::vector<uint8_t> bytes(words.size() * 4);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 34);
  for (int64_t row = 0; row < args.n; ++row) bytes[row * 34 + 1] = 0x2c;  // d between 2^-4 and 2^-3
  std::memcpy(words.data(), bytes.data(), bytes.size());
  args.x = upload_values(stream, x);
  args.w = upload_values(stream, words);
  const std::vector<double> want = quantized_product_reference(
      to_double(x), blocks_reference(args.format, bytes, args.n * args.k), args.m, args.n, args.k);
  // Parts of 64 rows of Y (1200 bytes each) and all of W (34 bytes a row); then of 128 rows of W as well.
  for (const int64_t most_bytes : {80000, 5000}) {
    args.y = poisoned(stream, args.m * args.n);
    matmul_quantized_webgpu(device::webgpu::as_webgpu(stream), "matmul_q8", args, most_bytes);
    CaseResult result;
    compare(result, "y", download_values(stream, args.y), want, allowed_f32(args.k));
    EXPECT_TRUE(result.passed()) << most_bytes << " bytes: " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
