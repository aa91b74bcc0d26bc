// embedding: wrong use, the order of positions, folding of a long grid, repeated bits, and the plain loop's own gradient against
// finite differences. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/embedding/embedding.h"

#include "kernels/embedding/embedding_reference.h"
#include "kernels/finite_difference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Embedding, RefusesAnIdOutsideTheVocabulary) {
  const std::vector<uint32_t> ids = {0, 4, 5, 1};
  try {
    embedding_order(ids, 5);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the token at position 2 is 5 but the vocabulary has 5 entries"));
  }
  EXPECT_NO_THROW(check_ids(ids, 6));
}

TEST(Embedding, RefusesATableOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  const std::vector<uint32_t> ids = {0, 1};
  const Embedding args{poisoned(stream, 11), upload_values(stream, ids), poisoned(stream, 8), 2, 4, 3};
  try {
    embedding(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("embedding: table has 44 bytes but 12 values"));
  }
}

TEST(EmbeddingBackward, RefusesAnOrderOfAnotherBatch) {
  device::Stream& stream = testing::stream();
  const std::vector<uint32_t> ids = {0, 1, 2};
  const EmbeddingBackward args{
      poisoned(stream, 8), upload_values(stream, embedding_order(ids, 3)), poisoned(stream, 12), 2, 4, 3};
  try {
    embedding_backward(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("embedding_backward: order has 28 bytes but 6 values"));
  }
}

TEST(Embedding, OrderListsThePositionsOfEachId) {
  const std::vector<uint32_t> ids = {3, 0, 3, 1, 0};
  EXPECT_THAT(embedding_order(ids, 4), ElementsAre(0, 2, 3, 3, 5, /*of 0*/ 1, 4, /*of 1*/ 3, /*of 3*/ 0, 2));
}

TEST(Embedding, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 23);
  for (const std::vector<KernelCase>& cases : {embedding_cases(), embedding_backward_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name.find("rows 257") != 0 && kernel_case.name.find("rows 1024") != 0) continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

TEST(EmbeddingBackward, RepeatsToTheBit) {
  device::Stream& stream = testing::stream();
  const std::vector<uint32_t> ids = {1, 0, 1, 1, 0, 1, 1, 1};
  const EmbeddingBackward args{upload_values(stream, test_values(8 * 257, 1)),
                               upload_values(stream, embedding_order(ids, 2)),
                               poisoned(stream, 2 * 257),
                               8,
                               257,
                               2};
  embedding_backward(stream, args);
  const std::vector<float> first = download_values(stream, args.d_table);
  embedding_backward(stream, args);
  EXPECT_EQ(first, download_values(stream, args.d_table));
}

TEST(Embedding, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<uint32_t> ids = {2, 0, 2, 3};
  const std::vector<double> table = to_double(test_values(5 * 3, 1));
  const std::vector<double> d_out = to_double(test_values(4 * 3, 2));
  expect_gradient(table, embedding_backward_reference(d_out, ids, 3, 5), d_out,
                  [&](const std::vector<double>& moved) { return embedding_reference(moved, ids, 3); });
}

}  // namespace
}  // namespace athanor::kernels
