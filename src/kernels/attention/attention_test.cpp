// attention: wrong use, folding of a long grid, equal bits for any number of threads, and the plain loop's own gradient against
// finite differences. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_reference.h"
#include "kernels/finite_difference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

Attention small(device::Stream& stream) {
  // B 2, T 3, H 4 over 2, D 2
  return {poisoned(stream, 48),
          poisoned(stream, 24),
          poisoned(stream, 24),
          poisoned(stream, 48),
          poisoned(stream, 24),
          2,
          3,
          4,
          2,
          2,
          1};
}

std::string message_of(const Attention& args) {
  try {
    attention(testing::stream(), args);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Attention, RefusesHeadsThatDoNotShareEvenly) {
  Attention args = small(testing::stream());
  args.kv_heads = 3;
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("4 query heads do not share 3 key/value heads evenly"));
}

TEST(Attention, RefusesAHeadTooWide) {
  Attention args = small(testing::stream());
  args.head_dim = 257;
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("a head width of 257 is not supported; use 1 to 256"));
}

TEST(Attention, RefusesKeysOfTheWrongSize) {
  Attention args = small(testing::stream());
  args.k = poisoned(testing::stream(), 48);
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("attention: k has 192 bytes but 24 values"));
}

TEST(Attention, RefusesAnEmptySequence) {
  Attention args = small(testing::stream());
  args.length = 0;
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("attention: 2 sequences of 0 tokens"));
}

TEST(Attention, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 9);
  for (const std::vector<KernelCase>& cases : {attention_cases(), attention_backward_cases()}) {
    const CaseResult result = cases.at(3).run(stream);  // 3 sequences of 33, 4 heads
    EXPECT_TRUE(result.passed()) << cases.at(3).name << ": " << result.where;
  }
}

struct Outputs {
  std::vector<float> out, log_sum_exp, d_q, d_k, d_v;
  bool operator==(const Outputs&) const = default;
};

Outputs run_all(device::Stream& stream, const AttentionSizes& s) {
  const int64_t tokens = s.batch * s.length;
  const int64_t queries = tokens * s.heads * s.head_dim;
  const int64_t keys = tokens * s.kv_heads * s.head_dim;
  const Attention forward{upload_values(stream, test_values(queries, 1)),
                          upload_values(stream, test_values(keys, 2)),
                          upload_values(stream, test_values(keys, 3)),
                          poisoned(stream, queries),
                          poisoned(stream, tokens * s.heads),
                          s.batch,
                          s.length,
                          s.heads,
                          s.kv_heads,
                          s.head_dim,
                          0.2F};
  attention(stream, forward);
  const AttentionBackward backward{upload_values(stream, test_values(queries, 4)),
                                   forward.q,
                                   forward.k,
                                   forward.v,
                                   forward.out,
                                   forward.log_sum_exp,
                                   poisoned(stream, queries),
                                   poisoned(stream, keys),
                                   poisoned(stream, keys),
                                   s.batch,
                                   s.length,
                                   s.heads,
                                   s.kv_heads,
                                   s.head_dim,
                                   0.2F};
  attention_backward(stream, backward);
  return {download_values(stream, forward.out), download_values(stream, forward.log_sum_exp),
          download_values(stream, backward.d_q), download_values(stream, backward.d_k),
          download_values(stream, backward.d_v)};
}

TEST(Attention, GivesTheSameBitsTwice) {
  const AttentionSizes sizes{2, 67, 4, 2, 20};
  EXPECT_TRUE(run_all(testing::stream(), sizes) == run_all(testing::stream(), sizes));
}

TEST(Attention, GivesTheSameBitsForAnyNumberOfThreads) {
  // One thread takes whole heads, many split the gradient by blocks; several blocks, the last one short.
  const AttentionSizes sizes{2, 230, 4, 2, 20};
  std::vector<Outputs> results;
  for (const int threads : {1, 2, 5}) {
    device::DeviceOptions options;
    options.name = "cpu";
    options.threads = threads;
    const std::unique_ptr<device::Device> device = device::open_device(options);
    results.push_back(run_all(device->stream(), sizes));
  }
  EXPECT_TRUE(results[0] == results[1]);
  EXPECT_TRUE(results[0] == results[2]);
}

TEST(Attention, PlainLoopsGradientMatchesFiniteDifferences) {
  const AttentionSizes sizes{2, 3, 4, 2, 2};
  constexpr double kScale = 0.7;
  const std::vector<double> q = to_double(test_values(48, 1));
  const std::vector<double> k = to_double(test_values(24, 2));
  const std::vector<double> v = to_double(test_values(24, 3));
  const std::vector<double> d_out = to_double(test_values(48, 4));
  const AttentionGradients gradients = attention_backward_reference(sizes, kScale, d_out, q, k, v);
  expect_gradient(q, gradients.d_q, d_out, [&](const std::vector<double>& moved) {
    return attention_reference(sizes, kScale, moved, k, v).out;
  });
  expect_gradient(k, gradients.d_k, d_out, [&](const std::vector<double>& moved) {
    return attention_reference(sizes, kScale, q, moved, v).out;
  });
  expect_gradient(v, gradients.d_v, d_out, [&](const std::vector<double>& moved) {
    return attention_reference(sizes, kScale, q, k, moved).out;
  });
}

}  // namespace
}  // namespace athanor::kernels
