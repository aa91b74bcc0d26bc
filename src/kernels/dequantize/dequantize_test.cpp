// dequantize and affine_dequantize: wrong use, folding of a long grid, halves on the host, and the layout as MLX itself reads it.
// The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/dequantize/dequantize.h"

#include "base/safetensors.h"
#include "kernels/dequantize/dequantize_reference.h"
#include "kernels/kernel_info.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

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

TEST(Dequantize, RefusesTooFewBytes) {
  device::Stream& stream = testing::stream();
  const Dequantize args{poisoned(stream, 2), poisoned(stream, 9), 9};
  EXPECT_THAT(message_of([&] { dequantize(stream, args); }), HasSubstr("dequantize: q has 8 bytes but 3 values"));
}

TEST(AffineDequantize, RefusesWhatMlxDoesNotHave) {
  device::Stream& stream = testing::stream();
  AffineDequantize args;
  args.rows = 1;
  args.columns = 96;
  args.layout.bits = 3;
  EXPECT_THAT(message_of([&] { affine_dequantize(stream, args); }),
              HasSubstr("3 bits a value were given; pass 4 or 8"));
  args.layout.bits = 4;
  args.layout.group = 16;
  EXPECT_THAT(message_of([&] { affine_dequantize(stream, args); }),
              HasSubstr("groups of 16 values were given; pass 32, 64 or 128"));
  args.layout.group = 64;
  EXPECT_THAT(message_of([&] { affine_dequantize(stream, args); }),
              HasSubstr("rows of 96 values are no whole groups of 64"));
  args.layout.group = 32;
  args.layout.scale_type = DType::F64;
  EXPECT_THAT(message_of([&] { affine_dequantize(stream, args); }), HasSubstr("scales of type F64"));
  args.layout.scale_type = DType::F16;
  args.q = poisoned(stream, 12);
  args.scales = poisoned(stream, 3);  // three halves are two u32
  EXPECT_THAT(message_of([&] { affine_dequantize(stream, args); }),
              HasSubstr("affine_dequantize: scales has 12 bytes but 2 values"));
}

TEST(Dequantize, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 5);
  for (const std::vector<KernelCase>& cases : {dequantize_cases(), affine_dequantize_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (!kernel_case.in_doctor) continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

TEST(AffineLayout, ReadsEveryHalfExactly) {
  EXPECT_EQ(half_value(0x0001), 0x1p-24F);
  EXPECT_EQ(half_value(0x03ff), 1023 * 0x1p-24F);
  EXPECT_EQ(half_value(0x0400), 0x1p-14F);
  EXPECT_EQ(half_value(0x3c00), 1);
  EXPECT_EQ(half_value(0xc000), -2);
  EXPECT_EQ(half_value(0x7bff), 65504);
  EXPECT_TRUE(std::signbit(half_value(0x8000)));
  EXPECT_EQ(half_value(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half_value(0x7e00)));
}

std::vector<uint32_t> words_of(const TensorEntry& entry) {
  std::vector<uint32_t> words((entry.bytes.size() + 3) / 4);
  std::memcpy(words.data(), entry.bytes.data(), entry.bytes.size());
  return words;
}

// tests/golden/make_quantized_golden.py: six layouts with what mlx.core.dequantize makes of them, rounded to the type of the scales.
TEST(AffineDequantize, AgreesWithMlx) {
  const SafetensorsFile golden(std::filesystem::path(ATHANOR_SOURCE_DIR) / "tests/golden/quantized.safetensors");
  device::Stream& stream = testing::stream();
  int64_t layouts = 0;
  for (const int64_t bits : {4, 8}) {
    for (const int64_t group : {32, 64, 128}) {
      const std::string name = fmt::format("affine_{}_{}.", bits, group);
      AffineDequantize args;
      const DType stored = golden.at(name + "scales").dtype;  // bf16 as bare bits
      args.layout = {bits, group, stored == DType::U16 ? DType::BF16 : stored};
      const TensorEntry& values = golden.at(name + "values");
      args.rows = values.shape[0];
      args.columns = values.shape[1];
      args.q = upload_values(stream, words_of(golden.at(name + "q")));
      args.scales = upload_values(stream, words_of(golden.at(name + "scales")));
      args.biases = upload_values(stream, words_of(golden.at(name + "biases")));
      args.out = poisoned(stream, args.rows * args.columns);
      affine_dequantize(stream, args);
      std::vector<float> want(static_cast<size_t>(values.num_elements()));
      std::memcpy(want.data(), values.bytes.data(), values.bytes.size());
      // MLX multiplies and adds in the type of the scales: two roundings of a half's 11 bits or a bf16's 8.
      const int digits = args.layout.scale_type == DType::F32 ? 23 : (args.layout.scale_type == DType::F16 ? 10 : 7);
      CaseResult result;
      compare(result, name, download_values(stream, args.out), to_double(want), 2 * std::ldexp(1.0, -digits));
      EXPECT_TRUE(result.passed()) << result.where;
      ++layouts;
    }
  }
  EXPECT_EQ(layouts, 6);
}

}  // namespace
}  // namespace athanor::kernels
