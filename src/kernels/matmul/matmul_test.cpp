// The matrix products: wrong use, ranges of buffers, equal bits, halves, and the family's own gradients. The cases against the plain
// loop run in kernels/cases_test.cpp; the cut into dispatches and the portable form have tests of their own.
#include "kernels/matmul/matmul.h"

#include "kernels/finite_difference.h"
#include "kernels/kernel_info.h"
#include "kernels/matmul/matmul_half.h"
#include "kernels/matmul/matmul_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace athanor::kernels {

std::vector<KernelInfo> matmul_kernels();

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

TEST(MatMul, RefusesAWeightOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  const MatMul args{poisoned(stream, 12), poisoned(stream, 19), poisoned(stream, 15), 3, 5, 4};
  EXPECT_THAT(message_of([&] { matmul(stream, args); }), HasSubstr("matmul: w has 76 bytes but 20 values"));
  EXPECT_THAT(message_of([&] { matmul_t(stream, args); }), HasSubstr("matmul_t: w has 76 bytes but 20 values"));
}

TEST(MatMul, RefusesASizeOfZeroAndAMissingOperand) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of([&] { matmul(stream, {}); }),
              HasSubstr("matmul: M 0, N 0, K 0 were given; each must be at least 1"));
  MatMulAt args{poisoned(stream, 12), {}, poisoned(stream, 20), 4, 5, 3, Accumulate::Yes};
  EXPECT_THAT(message_of([&] { matmul_at(stream, args); }), HasSubstr("matmul_at_acc: b is missing"));
}

TEST(MatMul, SwigluFormsRefuseGateAndUpOfDifferentSizes) {
  device::Stream& stream = testing::stream();
  const device::Buffer gate = poisoned(stream, 12);
  const device::Buffer up = poisoned(stream, 16);
  EXPECT_THAT(
      message_of([&] { matmul_swiglu_a(stream, {gate, up, poisoned(stream, 20), poisoned(stream, 15), 3, 5, 4}); }),
      HasSubstr("matmul_swiglu_a: up has 64 bytes but 12 values"));
  EXPECT_THAT(message_of([&] {
                matmul_at_swiglu_a(stream,
                                   {gate, up, poisoned(stream, 15), poisoned(stream, 20), 4, 5, 3, Accumulate::No});
              }),
              HasSubstr("matmul_at_swiglu_a: up has 64 bytes but 12 values"));
}

TEST(MatMul, RefusesAnF16OperandOfTheWrongSizeAndOtherTypes) {
  device::Stream& stream = testing::stream();
  MatMul args{poisoned(stream, 12), poisoned(stream, 20), poisoned(stream, 15), 3, 5, 4, Accumulate::No, DType::F16};
  EXPECT_THAT(message_of([&] { matmul(stream, args); }),
              HasSubstr("matmul_w16: w has 80 bytes but 20 values of 2 bytes are needed"));
  args.w_type = DType::BF16;
  EXPECT_THAT(message_of([&] { matmul(stream, args); }),
              HasSubstr("matmul: an operand of type BF16 was given; pass F32 or F16"));
}

TEST(MatMul, ReadsAndWritesPartsOfBuffers) {
  device::Stream& stream = testing::stream();
  constexpr int64_t kPad = 64;  // values, 256 bytes
  constexpr int64_t kM = 65, kN = 36, kK = 20;
  const std::vector<float> x = test_values(kM * kK, 1);
  const std::vector<float> w = test_values(kK * kN, 2);
  const auto padded = [&](const std::vector<float>& values) {
    std::vector<float> all(static_cast<size_t>(kPad), std::numeric_limits<float>::quiet_NaN());
    all.insert(all.end(), values.begin(), values.end());
    all.resize(all.size() + kPad, std::numeric_limits<float>::quiet_NaN());
    return upload_values(stream, all);
  };
  const std::vector<float> before(static_cast<size_t>(kM * kN + 2 * kPad), -7.0F);
  const device::Buffer y = upload_values(stream, before);
  matmul(stream, {padded(x).slice(kPad * 4, kM * kK * 4), padded(w).slice(kPad * 4, kK * kN * 4),
                  y.slice(kPad * 4, kM * kN * 4), kM, kN, kK});
  const std::vector<float> all = download_values(stream, y);
  for (int64_t i = 0; i < kPad; ++i) {
    ASSERT_EQ(all[i], -7.0F) << "value " << i << " before Y";
    ASSERT_EQ(all[all.size() - 1 - i], -7.0F) << "value " << i << " behind Y";
  }
  CaseResult result;
  compare(result, "y", std::span(all).subspan(kPad, kM * kN), matmul_reference(to_double(x), to_double(w), kM, kN, kK),
          allowed_f32(kK));
  EXPECT_TRUE(result.passed()) << result.where;
}

TEST(MatMul, TwoRunsGiveTheSameBits) {
  device::Stream& stream = testing::stream();
  constexpr int64_t kM = 600, kN = 65, kK = 68;  // the sums over M are cut into parts
  const device::Buffer x = upload_values(stream, test_values(kM * kK, 1));
  const device::Buffer b = upload_values(stream, test_values(kM * kN, 2));
  std::vector<std::vector<float>> runs;
  for (int run = 0; run < 2; ++run) {
    const device::Buffer y = poisoned(stream, kK * kN);
    matmul_at(stream, {x, b, y, kK, kN, kM, Accumulate::No});
    runs.push_back(download_values(stream, y));
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(MatMul, ResultsOfTheCpuDoNotDependOnItsThreads) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    device::DeviceOptions options;
    options.name = "cpu";
    options.threads = threads;
    const std::unique_ptr<device::Device> device = device::open_device(options);
    device::Stream& stream = device->stream();
    std::vector<float> all;
    for (const int64_t m : {1, 7, 300}) {
      const int64_t n = 700, k = 512;
      const device::Buffer gate = upload_values(stream, test_values(m * k, 1));
      const device::Buffer up = upload_values(stream, test_values(m * k, 2));
      const device::Buffer w = upload_values(stream, test_values(k * n, 3));
      const device::Buffer b = upload_values(stream, test_values(m * n, 4));
      const device::Buffer y = poisoned(stream, m * n);
      const device::Buffer d_w = poisoned(stream, k * n);
      const auto keep = [&](const device::Buffer& buffer) {
        const std::vector<float> values = download_values(stream, buffer);
        all.insert(all.end(), values.begin(), values.end());
      };
      matmul(stream, {gate, w, y, m, n, k});
      keep(y);
      matmul_t(stream, {gate, w, y, m, n, k});
      keep(y);
      matmul_swiglu_a(stream, {gate, up, w, y, m, n, k});
      keep(y);
      matmul_at_swiglu_a(stream, {gate, up, b, d_w, k, n, m, Accumulate::No});
      keep(d_w);
      const std::vector<uint32_t> ones_and_twos(static_cast<size_t>(k * n / 2), 0x40003c00U);
      const device::Buffer halves = upload_values(stream, ones_and_twos);
      matmul(stream, {gate, halves, y, m, n, k, Accumulate::No, DType::F16});
      keep(y);
    }
    results.push_back(all);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(MatMul, EveryKernelHasABenchmark) {
  device::Stream& stream = testing::stream();
  for (const KernelInfo& info : matmul_kernels()) {
    const KernelBench bench = info.bench(stream, 1 << 16);
    EXPECT_EQ(bench.sizes, "M 256, N 256, K 256");
    EXPECT_EQ(bench.cost.flops, 2.0 * 256 * 256 * 256);
    bench.launch();
    stream.wait();
  }
}

TEST(Half, EveryHalfWidensAndRoundsBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double mantissa = bits & 1023;
    double want = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) {
      want = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << bits;
    } else {
      EXPECT_EQ(value, (bits >> 15) != 0 ? -want : want) << bits;
      EXPECT_EQ(float_to_half(value), bits);
    }
  }
}

TEST(Half, RoundsToTheNearestTiesToEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float_to_half(1.0F + 0x1p-11F), 0x3c00U);
  EXPECT_EQ(float_to_half(1.0F + 3 * 0x1p-11F), 0x3c02U);
  EXPECT_EQ(float_to_half(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01U);
  EXPECT_EQ(float_to_half(65519.0F), 0x7bffU);
  EXPECT_EQ(float_to_half(65520.0F), 0x7c00U);
  EXPECT_EQ(float_to_half(-1e30F), 0xfc00U);
  EXPECT_EQ(float_to_half(0x1p-25F), 0U);
  EXPECT_EQ(float_to_half(3 * 0x1p-25F), 2U);
}

TEST(MatMul, PlainLoopsGradientsMatchFiniteDifferences) {
  const int64_t m = 3, n = 4, k = 5;
  const std::vector<double> x = to_double(test_values(m * k, 1));
  const std::vector<double> w = to_double(test_values(k * n, 2));
  const std::vector<double> d_y = to_double(test_values(m * n, 3));
  // dX = dY @ W^T and dW = X^T @ dY, as the tape uses the family.
  expect_gradient(x, matmul_t_reference(d_y, w, m, k, n), d_y,
                  [&](const std::vector<double>& moved) { return matmul_reference(moved, w, m, n, k); });
  expect_gradient(w, matmul_at_reference(x, d_y, k, n, m), d_y,
                  [&](const std::vector<double>& moved) { return matmul_reference(x, moved, m, n, k); });
  const std::vector<double> up = to_double(test_values(m * k, 4));
  const std::vector<double> hidden = swiglu_hidden_reference(x, up);
  expect_gradient(w, matmul_at_reference(hidden, d_y, k, n, m), d_y,
                  [&](const std::vector<double>& moved) { return matmul_reference(hidden, moved, m, n, k); });
}

}  // namespace
}  // namespace athanor::kernels
