// attention: wrong use, folding of a long grid, equal bits for any number of threads, documents packed against documents alone, and the
// plain loop's own gradient against finite differences. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_reference.h"
#include "kernels/cross_entropy/cross_entropy.h"
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

TEST(Attention, RefusesANegativeWindow) {
  Attention args = small(testing::stream());
  args.window = -1;
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("attention: a window of -1 keys; pass 1 or more, or 0 for none"));
}

TEST(Attention, RefusesASoftCapThatIsNoNumber) {
  Attention args = small(testing::stream());
  args.soft_cap = std::nanf("");
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("attention: a soft cap of nan; pass a positive one"));
}

TEST(Attention, RefusesFirstKeysOfTheWrongSize) {
  Attention args = small(testing::stream());
  args.first_key = poisoned(testing::stream(), 5);
  EXPECT_THAT(message_of(args), ::testing::HasSubstr("attention: first_key has 20 bytes but 6 values"));
}

TEST(Attention, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 9);
  for (const std::vector<KernelCase>& cases : {attention_cases(), attention_backward_cases()}) {
    const CaseResult result = cases.at(3).run(stream);  // 3 sequences of 33, 4 heads
    EXPECT_TRUE(result.passed()) << cases.at(3).name << ": " << result.where;
  }
}

AttentionOutputs run_test_values(device::Stream& stream, const AttentionSizes& sizes, AttentionRule rule = {}) {
  rule.scale = 0.2;
  return run_attention(stream, sizes, rule, attention_inputs(sizes, 1));
}

TEST(Attention, GivesTheSameBitsTwice) {
  const AttentionSizes sizes{2, 67, 4, 2, 20};
  EXPECT_TRUE(run_test_values(testing::stream(), sizes) == run_test_values(testing::stream(), sizes));
}

TEST(Attention, GivesTheSameBitsForAnyNumberOfThreads) {
  // One thread takes whole heads, many split the gradient by blocks; several blocks, the last one short.
  const AttentionSizes sizes{2, 230, 4, 2, 20};
  std::vector<uint32_t> first_key = first_keys_of({40, 64, 100, 26, 1, 63, 166});  // of both batch entries
  for (size_t t = 230; t < 460; ++t) first_key[t] -= 230;
  for (const AttentionRule& rule : {AttentionRule{}, AttentionRule{.window = 70, .first_key = first_key}}) {
    std::vector<AttentionOutputs> results;
    for (const int threads : {1, 2, 5}) {
      device::DeviceOptions options;
      options.name = "cpu";
      options.threads = threads;
      const std::unique_ptr<device::Device> device = device::open_device(options);
      results.push_back(run_test_values(device->stream(), sizes, rule));
    }
    EXPECT_TRUE(results[0] == results[1]);
    EXPECT_TRUE(results[0] == results[2]);
  }
}

TEST(Attention, WindowAsLongAsTheSequenceGivesTheSameBitsAsNone) {
  const AttentionSizes sizes{1, 67, 2, 1, 20};
  EXPECT_TRUE(run_test_values(testing::stream(), sizes) ==
              run_test_values(testing::stream(), sizes, {.window = 67, .first_key = std::vector<uint32_t>(67, 0)}));
}

TEST(Attention, RowsWithoutKeysGiveZerosAndTheirOwnLogSumExp) {
  const AttentionSizes sizes{1, 40, 2, 1, 20};
  std::vector<uint32_t> first_key(40, 0);
  for (uint32_t t = 33; t < 40; ++t) first_key[t] = 40;
  const AttentionOutputs got = run_test_values(testing::stream(), sizes, {.first_key = first_key});
  for (size_t row = 33; row < 40; ++row) {
    for (size_t d = 0; d < 40; ++d) {
      EXPECT_EQ(got.out[row * 40 + d], 0.0F) << row;
      EXPECT_EQ(got.d_q[row * 40 + d], 0.0F) << row;
    }
    for (size_t d = 0; d < 20; ++d) {
      EXPECT_EQ(got.d_k[row * 20 + d], 0.0F) << row;
      EXPECT_EQ(got.d_v[row * 20 + d], 0.0F) << row;
    }
    EXPECT_EQ(got.log_sum_exp[row * 2], kNoKeysLogSumExp) << row;
  }
  EXPECT_NE(got.out[32 * 40], 0.0F);
}

// Rows that nobody sees are NaN: had their tiles been taken, NaN times a weight of zero would show.
void expect_rows_do_not_read(const AttentionSizes& sizes, const AttentionRule& rule, size_t unseen, size_t from) {
  device::Stream& stream = testing::stream();
  AttentionInputs inputs = attention_inputs(sizes, 1);
  const AttentionOutputs want = run_attention(stream, sizes, rule, inputs);
  const float nan = std::nanf("");
  const size_t query_columns = static_cast<size_t>(sizes.heads * sizes.head_dim);
  const size_t key_columns = static_cast<size_t>(sizes.kv_heads * sizes.head_dim);
  std::fill_n(inputs.q.begin(), unseen * query_columns, nan);
  std::fill_n(inputs.d_out.begin(), unseen * query_columns, nan);
  std::fill_n(inputs.k.begin(), unseen * key_columns, nan);
  std::fill_n(inputs.v.begin(), unseen * key_columns, nan);
  const AttentionOutputs got = run_attention(stream, sizes, rule, inputs);
  const auto same = [&](const std::vector<float>& a, const std::vector<float>& b, size_t columns) {
    return std::equal(a.begin() + static_cast<int64_t>(from * columns), a.end(),
                      b.begin() + static_cast<int64_t>(from * columns), b.end());
  };
  EXPECT_TRUE(same(got.out, want.out, query_columns));
  EXPECT_TRUE(same(got.d_q, want.d_q, query_columns));
  EXPECT_TRUE(same(got.d_k, want.d_k, key_columns));
  EXPECT_TRUE(same(got.d_v, want.d_v, key_columns));
}

TEST(Attention, DoesNotReadTilesOfOtherDocuments) {
  const AttentionRule rule{.first_key = first_keys_of({64, 60})};
  expect_rows_do_not_read({1, 124, 4, 2, 20}, rule, 64, 64);
}

TEST(Attention, DoesNotReadTilesOutsideTheWindow) {
  expect_rows_do_not_read({1, 124, 4, 2, 20}, {.window = 32}, 32, 64);
}

// The rows of one document, cut out of a sequence.
AttentionInputs rows_of(const AttentionInputs& inputs, const AttentionSizes& s, int64_t begin, int64_t length) {
  const auto cut = [&](const std::vector<float>& values, int64_t columns) {
    return std::vector<float>(values.begin() + begin * columns, values.begin() + (begin + length) * columns);
  };
  return {cut(inputs.q, s.heads * s.head_dim), cut(inputs.k, s.kv_heads * s.head_dim),
          cut(inputs.v, s.kv_heads * s.head_dim), cut(inputs.d_out, s.heads * s.head_dim)};
}

std::vector<float> losses_of(device::Stream& stream, const std::vector<float>& logits, int64_t vocabulary) {
  const int64_t rows = static_cast<int64_t>(logits.size()) / vocabulary;
  const device::Buffer losses = poisoned(stream, rows);
  cross_entropy(stream,
                {upload_values(stream, logits),
                 upload_values(stream, std::vector<uint32_t>(static_cast<size_t>(rows), 3)), losses, rows, vocabulary});
  return download_values(stream, losses);
}

// Largest difference between documents packed in one sequence and the same documents alone, of all five results and of the losses that
// the outputs give as logits.
double packed_against_alone(const std::vector<int64_t>& lengths) {
  device::Stream& stream = testing::stream();
  AttentionSizes whole{1, 0, 4, 2, 20};
  for (const int64_t length : lengths) whole.length += length;
  AttentionRule rule;
  rule.scale = 0.2;
  rule.first_key = first_keys_of(lengths);
  const AttentionInputs inputs = attention_inputs(whole, 1);
  const AttentionOutputs packed = run_attention(stream, whole, rule, inputs);
  const int64_t columns = whole.heads * whole.head_dim;
  const std::vector<float> packed_losses = losses_of(stream, packed.out, columns);
  double largest = 0;
  int64_t begin = 0;
  const auto differ = [&](const std::vector<float>& all, const std::vector<float>& part, int64_t row_values) {
    for (size_t i = 0; i < part.size(); ++i) {
      largest = std::max<double>(largest, std::abs(all[static_cast<size_t>(begin * row_values) + i] - part[i]));
    }
  };
  for (const int64_t length : lengths) {
    AttentionSizes one = whole;
    one.length = length;
    AttentionRule alone;
    alone.scale = rule.scale;
    const AttentionOutputs got = run_attention(stream, one, alone, rows_of(inputs, whole, begin, length));
    differ(packed.out, got.out, columns);
    differ(packed.log_sum_exp, got.log_sum_exp, whole.heads);
    differ(packed.d_q, got.d_q, columns);
    differ(packed.d_k, got.d_k, whole.kv_heads * whole.head_dim);
    differ(packed.d_v, got.d_v, whole.kv_heads * whole.head_dim);
    differ(packed_losses, losses_of(stream, got.out, columns), 1);
    begin += length;
  }
  return largest;
}

// On WebGPU a document that starts at the edge of a tile of 32 meets the tiles it would meet alone. BLAS, on the CPU, is free to sum a
// block of another size in another order.
TEST(Attention, DocumentsAtTheEdgesOfTilesGiveTheBitsTheyGiveAlone) {
  const double largest = packed_against_alone({32, 96, 64, 17});
  if (testing::is_webgpu()) {
    EXPECT_EQ(largest, 0);
  } else {
    EXPECT_LT(largest, 1e-5);
  }
}

TEST(Attention, DocumentsAnywhereGiveWhatTheyGiveAloneButForRounding) {
  EXPECT_LT(packed_against_alone({1, 33, 1, 50, 3, 65}), 1e-5);
}

TEST(Attention, PlainLoopsGradientMatchesFiniteDifferences) {
  const AttentionSizes sizes{2, 5, 4, 2, 2};
  const std::vector<double> q = to_double(test_values(80, 1));
  const std::vector<double> k = to_double(test_values(40, 2));
  const std::vector<double> v = to_double(test_values(40, 3));
  const std::vector<double> d_out = to_double(test_values(80, 4));
  const std::vector<AttentionRule> rules = {
      {.scale = 0.7},
      {.scale = 0.7, .window = 2, .soft_cap = 1.5, .first_key = {0, 1, 0, 2, 9, 0, 0, 0, 3, 3}},
  };
  for (const AttentionRule& rule : rules) {
    const AttentionGradients gradients = attention_backward_reference(sizes, rule, d_out, q, k, v);
    expect_gradient(q, gradients.d_q, d_out, [&](const std::vector<double>& moved) {
      return attention_reference(sizes, rule, moved, k, v).out;
    });
    expect_gradient(k, gradients.d_k, d_out, [&](const std::vector<double>& moved) {
      return attention_reference(sizes, rule, q, moved, v).out;
    });
    expect_gradient(v, gradients.d_v, d_out, [&](const std::vector<double>& moved) {
      return attention_reference(sizes, rule, q, k, moved).out;
    });
  }
}

// A window and documents hide what lies outside them: it may be anything.
TEST(Attention, PlainLoopHidesWhatIsOutsideTheWindowAndTheDocument) {
  const AttentionSizes sizes{1, 6, 1, 1, 1};
  const AttentionRule rule{.window = 2, .first_key = {0, 0, 0, 3, 3, 3}};
  const std::vector<double> ones(6, 1.0);
  const std::vector<double> v = {1, 2, 4, 8, 16, 32};
  const std::vector<double> want = {1, 1.5, 3, 8, 12, 24};
  const std::vector<double> got = attention_reference(sizes, rule, ones, ones, v).out;
  for (size_t t = 0; t < 6; ++t) EXPECT_NEAR(got[t], want[t], 1e-14) << t;
}

TEST(AttentionBench, MakesOperandsOfTheAskedSizeThatRun) {
  device::Stream& stream = testing::stream();
  for (const auto make : {attention_bench, attention_backward_bench}) {
    const KernelBench bench = make(stream, 1 << 18, MatMulPrecision::Medium);
    EXPECT_EQ(bench.sizes, "batch 1, length 64, heads 16 over 8, head width 64");
    EXPECT_GT(bench.cost.flops, 0);
    bench.launch();
  }
  stream.wait();
}

}  // namespace
}  // namespace athanor::kernels
