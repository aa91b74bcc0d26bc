// add, sub, their gradients and gradient_accumulate: wrong use, folding of a long grid, the same bits on every run, and the plain
// loops' own gradients against finite differences. The cases against the plain loops run in kernels/cases_test.cpp.
#include "kernels/add/add.h"

#include "base/expect_error.h"
#include "kernels/add/add_reference.h"
#include "kernels/finite_difference.h"
#include "kernels/folded_cases.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(Add, RefusesAnOperandOfAnotherSize) {
  device::Stream& stream = testing::stream();
  const Add args{poisoned(stream, 12), poisoned(stream, 11), poisoned(stream, 12), 12};
  EXPECT_ERROR(add(stream, args), "add: b has 44 bytes but 12 values");
}

TEST(Sub, RefusesAVectorThatIsNotOneRow) {
  device::Stream& stream = testing::stream();
  const Sub args{poisoned(stream, 12), poisoned(stream, 12), poisoned(stream, 12), 12, 4};
  EXPECT_ERROR(sub(stream, args), "sub: b has 48 bytes but 4 values");
}

TEST(Sub, RefusesACountThatIsNoWholeRows) {
  device::Stream& stream = testing::stream();
  const Sub args{poisoned(stream, 12), poisoned(stream, 5), poisoned(stream, 12), 12, 5};
  EXPECT_ERROR(sub(stream, args), "sub: 12 values are no rows of 5");
}

TEST(AddBackward, RefusesAGradientOfAnotherSize) {
  device::Stream& stream = testing::stream();
  const AddBackward args{poisoned(stream, 12), poisoned(stream, 12), poisoned(stream, 12), 12, 4};
  EXPECT_ERROR(add_backward(stream, args), "add_backward: d_b has 48 bytes but 4 values");
}

TEST(SubBackward, RefusesAMissingGradientOfTheResult) {
  device::Stream& stream = testing::stream();
  const SubBackward args{device::Buffer(), poisoned(stream, 12), poisoned(stream, 12), 12};
  EXPECT_ERROR(sub_backward(stream, args), "sub_backward: d_out is missing");
}

TEST(GradientAccumulate, RefusesAMissingOperand) {
  device::Stream& stream = testing::stream();
  const AddInto args{device::Buffer(), poisoned(stream, 12), 12};
  EXPECT_ERROR(gradient_accumulate(stream, args), "gradient_accumulate: from is missing");
}

TEST(Add, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  for (const std::vector<KernelCase>& cases : {add_cases(), sub_cases()}) {
    expect_folded_cases_pass(cases, 3, {"count 2006", "count 4100"});
    expect_folded_cases_pass(cases, 9, {"rows 65, columns 257, b one row"});
  }
  expect_folded_cases_pass(gradient_accumulate_cases(), 3, {"count 2006", "count 4100"});
}

TEST(AddBackward, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  for (const std::vector<KernelCase>& cases : {add_backward_cases(), sub_backward_cases()}) {
    expect_folded_cases_pass(cases, 3, {"count 2006", "count 4100"});
    expect_folded_cases_pass(cases, 7, {"rows 257, columns 343, b one row"});
  }
}

TEST(AddBackward, GivesTheSameBitsOnEveryRun) {
  device::Stream& stream = testing::stream();
  const device::Buffer d_out = upload_values(stream, test_values(300 * 7, 3));
  std::vector<std::vector<float>> runs;
  for (int run = 0; run < 2; ++run) {
    const AddBackward args{d_out, {}, poisoned(stream, 7), 300 * 7, 7};
    add_backward(stream, args);
    runs.push_back(download_values(stream, args.d_b));
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(AddBackward, GivesZerosWhenThereAreNoRows) {
  device::Stream& stream = testing::stream();
  const AddBackward args{poisoned(stream, 4).slice(0, 0), {}, poisoned(stream, 4), 0, 4};
  add_backward(stream, args);
  EXPECT_EQ(download_values(stream, args.d_b), std::vector<float>(4, 0.0F));
}

TEST(Add, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> a = to_double(test_values(15, 1));
  const std::vector<double> b = to_double(test_values(5, 2));
  const std::vector<double> d_out = to_double(test_values(15, 3));
  const BroadcastGradients of_add = add_backward_reference(d_out, b.size());
  expect_gradient(a, of_add.d_a, d_out, [&](const std::vector<double>& moved) { return add_reference(moved, b); });
  expect_gradient(b, of_add.d_b, d_out, [&](const std::vector<double>& moved) { return add_reference(a, moved); });
  const BroadcastGradients of_sub = sub_backward_reference(d_out, b.size());
  expect_gradient(a, of_sub.d_a, d_out, [&](const std::vector<double>& moved) { return sub_reference(moved, b); });
  expect_gradient(b, of_sub.d_b, d_out, [&](const std::vector<double>& moved) { return sub_reference(a, moved); });
}

}  // namespace
}  // namespace athanor::kernels
