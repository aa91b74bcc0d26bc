// attention_decode: wrong use, folding, equal bits for any number of threads, and agreement with attention of the whole sequence. The
// cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/attention_decode/attention_decode.h"

#include "kernels/attention/attention_reference.h"
#include "kernels/attention_decode/attention_decode_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

// 2 rows at position 3 of a cache of 6, H 4 over 2, D 2
AttentionDecode small(device::Stream& stream) {
  return {poisoned(stream, 16), poisoned(stream, 24), poisoned(stream, 24), poisoned(stream, 16), 2, 3, 6, 4, 2, 2, 1};
}

std::string message_of(const AttentionDecode& args) {
  try {
    attention_decode(testing::stream(), args);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(AttentionDecode, RefusesRowsThatDoNotFitTheCache) {
  AttentionDecode args = small(testing::stream());
  args.position = 5;
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("rows 5 to 6 do not fit a cache of 6"));
}

TEST(AttentionDecode, RefusesANegativeWindow) {
  AttentionDecode args = small(testing::stream());
  args.window = -3;
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("attention_decode: a window of -3 keys"));
}

TEST(AttentionDecode, RefusesACacheOfTheWrongSize) {
  AttentionDecode args = small(testing::stream());
  args.v_cache = poisoned(testing::stream(), 20);
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("attention_decode: v_cache has 80 bytes but 24 values"));
}

TEST(AttentionDecode, RefusesHeadsThatDoNotShareEvenly) {
  AttentionDecode args = small(testing::stream());
  args.heads = 3;
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("3 query heads do not share 2"));
}

TEST(AttentionDecode, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 6);
  for (const KernelCase& kernel_case : attention_decode_cases()) {
    if (!kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

TEST(AttentionDecode, PlainLoopIsTheLastRowsOfAttention) {
  const AttentionSizes whole{1, 7, 4, 2, 3};
  const AttentionRule rule{.scale = 0.6, .window = 4, .soft_cap = 2};
  const std::vector<double> q = to_double(test_values(7 * 12, 1));
  const std::vector<double> k = to_double(test_values(7 * 6, 2));
  const std::vector<double> v = to_double(test_values(7 * 6, 3));
  const std::vector<double> want = attention_reference(whole, rule, q, k, v).out;
  const std::vector<double> last(q.begin() + 5 * 12, q.end());
  const std::vector<double> got = attention_decode_reference({2, 5, 7, 4, 2, 3}, rule, last, k, v);
  ASSERT_EQ(got.size(), 24U);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[5 * 12 + i], 1e-14) << i;
}

TEST(AttentionDecodeBench, MakesOperandsOfTheAskedSizeThatRun) {
  device::Stream& stream = testing::stream();
  const KernelBench bench = attention_decode_bench(stream, 1 << 19);
  EXPECT_EQ(bench.sizes, "cache of 128, heads 32 over 8, head width 128");
  EXPECT_GT(bench.cost.bytes, 1 << 20);
  bench.launch();
  stream.wait();
}

TEST(AttentionDecode, GivesTheSameBitsForAnyNumberOfThreads) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 5}) {
    device::DeviceOptions options;
    options.name = "cpu";
    options.threads = threads;
    const std::unique_ptr<device::Device> device = device::open_device(options);
    device::Stream& stream = device->stream();
    const AttentionDecode args{upload_values(stream, test_values(4 * 20, 1)),
                               upload_values(stream, test_values(700 * 40, 2)),
                               upload_values(stream, test_values(700 * 40, 3)),
                               poisoned(stream, 80),
                               1,
                               650,
                               700,
                               4,
                               2,
                               20,
                               0.2F};
    attention_decode(stream, args);
    results.push_back(download_values(stream, args.out));
  }
  EXPECT_TRUE(results[0] == results[1]);
  EXPECT_TRUE(results[0] == results[2]);
}

}  // namespace
}  // namespace athanor::kernels
