// The tape: gradients that meet, tensors that need none, and what ops refuse.
#include "tensor/tape.h"

#include "base/expect_error.h"
#include "kernels/compare.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "launches_on_units.h"
#include "tensor/ops.h"
#include "test_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace athanor::tensor {
namespace {

using kernels::test_values;

class Tapes : public ::testing::Test {
 protected:
  Tensor values(const Shape& shape, uint32_t seed, bool needs_gradient = true) {
    Tensor tensor = from_values(stream_, test_values(shape.num_elements(), seed), shape);
    tensor.set_needs_gradient(needs_gradient);
    return tensor;
  }
  std::vector<float> gradient(const Tensor& tensor) { return to_values(stream_, tensor.gradient()); }

  Stream& stream_ = testing::stream();
  Tape tape_;
  Context context_{stream_, &tape_};
};

TEST_F(Tapes, ATensorUsedTwiceGetsTheSumOfBothGradients) {
  const Tensor x = values(Shape{3, 5}, 1);
  const Tensor once = add(context_, x, x);
  const Tensor twice = add(context_, once, x);
  const Tensor seed = values(Shape{3, 5}, 2, false);
  twice.add_gradient(stream_, seed.buffer());
  tape_.run_backward(stream_);
  const std::vector<float> got = gradient(x);
  const std::vector<float> want = to_values(stream_, seed);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], 3 * want[i], 1e-6) << i;
}

TEST_F(Tapes, ASharedGradientIsNotChangedByTheNextContribution) {
  const Tensor a = values(Shape{4, 4}, 1);
  const Tensor b = values(Shape{4, 4}, 2);
  const Tensor sum = add(context_, a, b);  // a and b share the gradient's buffer
  const Tensor more = add(context_, sum, a);
  const Tensor seed = values(Shape{4, 4}, 3, false);
  more.add_gradient(stream_, seed.buffer());
  tape_.run_backward(stream_);
  EXPECT_EQ(gradient(b), to_values(stream_, seed));
  EXPECT_NE(gradient(a), gradient(b));
}

TEST_F(Tapes, ATensorThatNeedsNoGradientGetsNone) {
  const Tensor x = values(Shape{3, 8}, 1, false);
  const Tensor w = values(Shape{8, 5}, 2);
  const Tensor y = matmul(context_, x, w);
  y.add_gradient(stream_, values(Shape{3, 5}, 3, false).buffer());
  tape_.run_backward(stream_);
  EXPECT_FALSE(x.gradient());
  EXPECT_TRUE(w.gradient());
}

TEST_F(Tapes, WithoutAnyInputThatNeedsAGradientNothingIsRecorded) {
  const Tensor x = values(Shape{3, 8}, 1, false);
  const Tensor w = values(Shape{8, 5}, 2, false);
  const Tensor y = matmul(context_, x, w);
  EXPECT_EQ(tape_.size(), 0U);
  EXPECT_FALSE(y.needs_gradient());
}

TEST_F(Tapes, ABranchThatNobodyUsesIsSkipped) {
  const Tensor x = values(Shape{2, 4}, 1);
  const Tensor used = add(context_, x, x);
  const Tensor unused = add(context_, x, used);
  used.add_gradient(stream_, values(Shape{2, 4}, 2, false).buffer());
  tape_.run_backward(stream_);
  EXPECT_EQ(tape_.size(), 0U);
  EXPECT_FALSE(unused.gradient());
}

TEST_F(Tapes, AGradientWithAPlaceIsWrittenThereAndOverwrittenInTheNextStep) {
  const Buffer slab = stream_.device().allocate(2 * 256, "slab");
  const Tensor x = values(Shape{2, 8}, 1, false);
  Tensor w = values(Shape{8, 4}, 2);
  w.set_gradient_place(slab.slice(256, 128));
  std::vector<float> first;
  for (int step = 0; step < 2; ++step) {
    w.clear_gradient();
    Tape tape;
    const Tensor y = matmul(Context{stream_, &tape}, x, w);
    y.add_gradient(stream_, values(Shape{2, 4}, 3, false).buffer());
    tape.run_backward(stream_);
    const std::vector<float> now = to_values(stream_, slab.slice(256, 128));
    if (step == 0) first = now;
    EXPECT_EQ(now, first);
  }
}

// A device without matrix units computes in f32 whatever is permitted.
TEST_F(Tapes, PermittedRoundingStaysWithinItsErrorAndReachesTheGradients) {
  std::vector<std::vector<float>> runs;
  for (const kernels::MatMulPrecision precision :
       {kernels::MatMulPrecision::Highest, kernels::MatMulPrecision::High, kernels::MatMulPrecision::Medium}) {
    Tape tape;
    const Context context{stream_, &tape, precision};
    const Tensor x = values(Shape{260, 384}, 1);
    const Tensor w = values(Shape{384, 388}, 2);
    const Tensor y = matmul(context, x, w);
    y.add_gradient(stream_, values(Shape{260, 388}, 3, false).buffer());
    runs.push_back(to_values(stream_, y));
    tape.run_backward(stream_);
    runs.push_back(gradient(x));
    runs.push_back(gradient(w));
  }
  for (size_t i = 3; i < runs.size(); ++i) {
    const std::vector<float>& want = runs[i % 3];
    kernels::CaseResult result;
    kernels::compare(result, "values", runs[i], kernels::to_double(want), i < 6 ? 2e-5 : 1e-3);
    EXPECT_TRUE(result.passed()) << i << " " << result.where;
  }
}

TEST_F(Tapes, AKeptScaleIsForgottenWithTheValues) {
  const Tensor x = values(Shape{2, 8}, 1);
  const Tensor same = x;
  *x.kept_scale() = values(Shape{2}, 2).buffer();
  EXPECT_TRUE(*same.kept_scale());
  same.values_changed();
  EXPECT_FALSE(*x.kept_scale());
}

TEST_F(Tapes, RecomputationGivesTheSameGradients) {
  const Tensor w = values(Shape{6, 6}, 2);
  const Tensor weight = values(Shape{6}, 4);
  const auto block = [&](const Context& context, const Tensor& x) {
    return add(context, x, matmul(context, rms_norm(context, x, weight, 1e-5F), w));
  };
  std::vector<std::vector<float>> gradients;
  for (const bool recomputes : {false, true}) {
    Tape tape;
    const Context context{stream_, &tape};
    const Tensor x = values(Shape{5, 6}, 1);
    Tensor weights_of_run = w;
    weights_of_run.clear_gradient();
    Tensor norm_of_run = weight;
    norm_of_run.clear_gradient();
    const Tensor y = recomputes ? checkpoint(context, x, block) : block(context, x);
    y.add_gradient(stream_, values(Shape{5, 6}, 3, false).buffer());
    tape.run_backward(stream_);
    gradients.push_back(gradient(x));
    gradients.push_back(gradient(w));
    gradients.push_back(gradient(weight));
  }
  EXPECT_EQ(gradients[0], gradients[3]);
  EXPECT_EQ(gradients[1], gradients[4]);
  EXPECT_EQ(gradients[2], gradients[5]);
}

TEST(Head, MeasuresTheGradientOfLogitsOnlyWhereItsTermsHaveNoBound) {
  const auto measured = [](const CrossEntropyTerms& terms) {
    const std::vector<std::string> launches = testing::launches_on_units([&](Stream& stream) {
      Tape tape;
      const Context context{stream, &tape, kernels::MatMulPrecision::Medium};
      Tensor x = empty(stream, Shape{512, 128}, "x");
      Tensor head = empty(stream, Shape{1024, 128}, "head");
      x.set_needs_gradient(true);
      head.set_needs_gradient(true);
      const Buffer loss = stream.device().allocate(4, "loss");
      cross_entropy_head(context, x, head, std::vector<int32_t>(512, 0), 1.0F / 512, loss, terms);
    });
    return std::count(launches.begin(), launches.end(), "max_magnitude");
  };
  EXPECT_EQ(measured({}), 2);  // x and head
  EXPECT_EQ(measured({.label_smoothing = 0.1F}), 2);
  EXPECT_EQ(measured({.z_loss = 1e-4F}), 3);
}

TEST_F(Tapes, ChunksOfTheHeadGiveTheLossOfTheWhole) {
  // 700 rows are several chunks on any device that takes fewer; ignored rows count nothing.
  const Tensor x = values(Shape{700, 8}, 1);
  const Tensor head = values(Shape{40, 8}, 2);
  std::vector<int32_t> targets(700);
  for (size_t i = 0; i < targets.size(); ++i)
    targets[i] = i % 7 == 0 ? kernels::kIgnoreTarget : static_cast<int32_t>(i % 40);
  const Buffer loss = stream_.device().allocate(4, "loss");
  stream_.fill_zero(loss);
  cross_entropy_head(context_, x, head, targets, 0.5F, loss);
  const std::vector<float> all = to_values(stream_, matmul_t(Context{stream_, nullptr}, x, head));
  double want = 0;
  for (size_t row = 0; row < 700; ++row) {
    if (targets[row] < 0) continue;
    double sum = 0;
    for (size_t v = 0; v < 40; ++v) sum += std::exp(static_cast<double>(all[row * 40 + v]));
    want += std::log(sum) - all[row * 40 + static_cast<size_t>(targets[row])];
  }
  EXPECT_NEAR(to_values(stream_, loss).front(), want, 1e-5 * want);
  const std::vector<float> d_x = gradient(x);
  EXPECT_EQ(std::vector<float>(d_x.begin(), d_x.begin() + 8), std::vector<float>(8, 0.0F));  // row 0 is ignored
}

TEST_F(Tapes, OpsRefuseShapesThatDoNotFit) {
  const Tensor x = values(Shape{3, 8}, 1);
  EXPECT_ERROR(matmul(context_, x, values(Shape{7, 5}, 2)), "matmul: x has rows of 8 values but w is (7, 5)");
  EXPECT_ERROR(add(context_, x, values(Shape{8, 3}, 2)), "add: a is (3, 8) but b is (8, 3)");
  EXPECT_ERROR(rms_norm(context_, x, values(Shape{5}, 2), 1e-5F), "rms_norm: weight has 5 values but x has rows of 8");
  EXPECT_ERROR(upload_token_ids(context_, std::vector<uint32_t>{1, 9}, 9), "9");
}

}  // namespace
}  // namespace athanor::tensor
