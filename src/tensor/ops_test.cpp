// What every op owes its caller: gradients for those inputs alone that need one, the same ones whatever the others need; sums in a
// slab; no launch whose result nobody reads; errors that say what to pass.
#include "tensor/ops.h"

#include "base/expect_error.h"
#include "kernels/compare.h"
#include "kernels/rope/rope.h"
#include "tensor/tape.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace athanor::tensor {
namespace {

using kernels::test_values;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr float kEps = 1e-5F;
const std::vector<int32_t> kTargets = {3, kernels::kIgnoreTarget, 0, 6, 6};

using Inputs = std::vector<Tensor>;

struct OpCase {
  const char* name;
  std::vector<Shape> inputs;  // that may need gradients
  std::function<Tensor(const Context&, const Inputs&)> run;
};

std::vector<OpCase> op_cases() {
  const Shape rows{5, 8};
  const Shape vector{8};
  return {
      {"add", {rows, rows}, [](auto& context, auto& in) { return add(context, in[0], in[1]); }},
      {"add a vector", {rows, vector}, [](auto& context, auto& in) { return add(context, in[0], in[1]); }},
      {"sub", {rows, rows}, [](auto& context, auto& in) { return sub(context, in[0], in[1]); }},
      {"sub a vector", {rows, vector}, [](auto& context, auto& in) { return sub(context, in[0], in[1]); }},
      {"mul", {rows, rows}, [](auto& context, auto& in) { return mul(context, in[0], in[1]); }},
      {"mul a vector", {rows, vector}, [](auto& context, auto& in) { return mul(context, in[0], in[1]); }},
      {"relu", {rows}, [](auto& context, auto& in) { return relu(context, in[0]); }},
      {"silu", {rows}, [](auto& context, auto& in) { return silu(context, in[0]); }},
      {"gelu", {rows}, [](auto& context, auto& in) { return gelu(context, in[0]); }},
      {"silu_gate", {rows, rows}, [](auto& context, auto& in) { return silu_gate(context, in[0], in[1]); }},
      {"gelu_gate", {rows, rows}, [](auto& context, auto& in) { return gelu_gate(context, in[0], in[1]); }},
      {"dropout", {rows}, [](auto& context, auto& in) { return dropout(context, in[0], 0.25F, {.seed = 3}); }},
      {"softmax", {rows}, [](auto& context, auto& in) { return softmax(context, in[0]); }},
      {"rms_norm", {rows, vector}, [](auto& context, auto& in) { return rms_norm(context, in[0], in[1], kEps, 1); }},
      {"rms_norm_residual, its norm",
       {rows, rows, vector},
       [](auto& context, auto& in) { return rms_norm_residual(context, in[0], in[1], in[2], kEps).out; }},
      {"rms_norm_residual, both",
       {rows, rows, vector},
       [](auto& context, auto& in) {
         const ResidualNorm norm = rms_norm_residual(context, in[0], in[1], in[2], kEps);
         return mul(context, norm.out, norm.y);
       }},
      {"conv1d",
       {Shape{2, 5, 8}, Shape{5, 3}, Shape{5}},
       [](auto& context, auto& in) { return conv1d(context, in[0], in[1], in[2]); }},
      {"matmul", {rows, Shape{8, 6}}, [](auto& context, auto& in) { return matmul(context, in[0], in[1]); }},
      {"matmul_t", {rows, Shape{6, 8}}, [](auto& context, auto& in) { return matmul_t(context, in[0], in[1]); }},
      {"swiglu_matmul",
       {rows, rows, Shape{8, 6}},
       [](auto& context, auto& in) { return swiglu_matmul(context, in[0], in[1], in[2]); }},
      {"attention",
       {Shape{6, 8}, Shape{6, 4}, Shape{6, 4}},
       [](auto& context, auto& in) { return attention(context, in[0], in[1], in[2], {1, 6, 2, 1, 3, 2.0F, {}}); }},
      {"rope",
       {Shape{6, 8}},
       [](auto& context, auto& in) {
         const Tensor table = from_values(context.stream, kernels::rope_table(6, 4, 1e4), Shape{6, 4});
         return rope(context, in[0], table, 2, 6, 0);
       }},
      {"embedding",
       {Shape{7, 4}},
       [](auto& context, auto& in) {
         return embedding(context, in[0], upload_token_ids(context, std::vector<uint32_t>{6, 1, 1}, 7));
       }},
      {"mse_loss", {rows, rows}, [](auto& context, auto& in) { return mse_loss(context, in[0], in[1]); }},
      {"cross_entropy", {rows}, [](auto& context, auto& in) { return cross_entropy(context, in[0], kTargets); }},
  };
}

class Ops : public ::testing::Test {
 protected:
  Tensor values(const Shape& shape, uint32_t seed, bool needs_gradient = true) {
    Tensor tensor = from_values(stream_, test_values(shape.num_elements(), seed), shape);
    tensor.set_needs_gradient(needs_gradient);
    return tensor;
  }

  /// Bit i of `needing`: input i needs a gradient.
  Inputs inputs_of(const OpCase& op, unsigned needing) {
    Inputs inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      inputs.push_back(values(op.inputs[i], static_cast<uint32_t>(i + 1), (needing >> i & 1U) != 0));
    }
    return inputs;
  }

  /// Forward, and backward from a fixed gradient of the output.
  void run(const OpCase& op, const Inputs& inputs) {
    Tape tape;
    const Tensor out = op.run(Context{stream_, &tape}, inputs);
    out.add_gradient(stream_, values(out.shape(), 99, false).buffer());
    tape.run_backward(stream_);
  }

  std::vector<float> gradient(const Tensor& tensor) { return to_values(stream_, tensor.gradient()); }

  /// The kernels that the backward pass of run(context) launches, each once, in alphabetical order.
  std::set<std::string> backward_kernels(const std::function<Tensor(const Context&)>& run) {
    Tape tape;
    const Tensor out = run(Context{stream_, &tape});
    if (!out.gradient() && tape.size() > 0) out.add_gradient(stream_, values(out.shape(), 99, false).buffer());
    return launched([&] { tape.run_backward(stream_); });
  }

  std::set<std::string> launched(const std::function<void()>& work) {
    stream_.wait();
    stream_.set_profiling(true);
    work();
    std::set<std::string> names;
    num_launches_ = 0;
    for (const device::KernelLaunch& launch : stream_.take_launches()) {
      names.insert(launch.kernel);
      ++num_launches_;
    }
    stream_.set_profiling(false);
    return names;
  }

  int num_launches_ = 0;
  Stream& stream_ = testing::stream();
};

TEST_F(Ops, AnySubsetOfTheInputsThatNeedGradientsGetsTheSameOnes) {
  for (const OpCase& op : op_cases()) {
    const unsigned all = (1U << op.inputs.size()) - 1;
    const Inputs full = inputs_of(op, all);
    run(op, full);
    for (unsigned needing = 1; needing < all; ++needing) {
      const Inputs inputs = inputs_of(op, needing);
      run(op, inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool needs = (needing >> i & 1U) != 0;
        EXPECT_EQ(static_cast<bool>(inputs[i].gradient()), needs) << op.name << ", input " << i << " of " << needing;
        if (!needs) continue;
        EXPECT_EQ(gradient(inputs[i]), gradient(full[i])) << op.name << ", input " << i << " of " << needing;
      }
    }
  }
}

TEST_F(Ops, WithoutAnInputThatNeedsAGradientNothingIsRecorded) {
  for (const OpCase& op : op_cases()) {
    Tape tape;
    const Tensor out = op.run(Context{stream_, &tape}, inputs_of(op, 0));
    EXPECT_EQ(tape.size(), 0U) << op.name;
    EXPECT_FALSE(out.needs_gradient()) << op.name;
  }
}

TEST_F(Ops, GradientsAreWrittenIntoASlabAndLaterOnesAdded) {
  for (const OpCase& op : op_cases()) {
    const unsigned all = (1U << op.inputs.size()) - 1;
    const Inputs once = inputs_of(op, all);
    run(op, once);
    Inputs twice = inputs_of(op, all);
    std::vector<Buffer> places;
    for (Tensor& input : twice) {
      const int64_t bytes = input.buffer().size_bytes();
      places.push_back(kernels::poisoned(stream_, 64 + bytes / 4).slice(256, bytes));
      input.set_gradient_place(places.back());
    }
    for (int step = 0; step < 2; ++step) {  // the second step overwrites what the first left
      for (Tensor& input : twice) input.clear_gradient();
      run(op, twice);
      run(op, twice);
    }
    for (size_t i = 0; i < twice.size(); ++i) {
      std::vector<double> want = kernels::to_double(gradient(once[i]));
      for (double& value : want) value *= 2;
      kernels::CaseResult result;
      kernels::compare(result, op.name, to_values(stream_, places[i]), want, kernels::allowed_f32(1));
      EXPECT_TRUE(result.passed()) << op.name << ", input " << i << ": error " << result.largest_error;
    }
  }
}

TEST_F(Ops, ATensorThatIsTwoOfTheInputsGetsTheSumOfTheirGradients) {
  for (const OpCase& op : op_cases()) {
    if (op.inputs.size() < 2 || !(op.inputs[0] == op.inputs[1])) continue;
    Inputs apart = inputs_of(op, 3);
    apart[1] = values(op.inputs[0], 1);
    run(op, apart);
    std::vector<double> want = kernels::to_double(gradient(apart[0]));
    const std::vector<float> second = gradient(apart[1]);
    double largest_term = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      largest_term = std::max(largest_term, std::abs(want[i]));
      want[i] += second[i];
    }
    Inputs same = inputs_of(op, 1);
    same[1] = same[0];
    run(op, same);
    kernels::CaseResult result;
    kernels::compare(result, op.name, gradient(same[0]), want, kernels::allowed_f32(1), largest_term);
    EXPECT_TRUE(result.passed()) << op.name << ": error " << result.largest_error;
  }
}

TEST_F(Ops, AGradientThatNobodyNeedsIsNotComputed) {
  const auto of = [&](const char* name, unsigned needing) {
    for (const OpCase& op : op_cases()) {
      if (std::string_view(op.name) != name) continue;
      const Inputs inputs = inputs_of(op, needing);
      return backward_kernels([&](const Context& context) { return op.run(context, inputs); });
    }
    ADD_FAILURE() << "no case " << name;
    return std::set<std::string>();
  };
  EXPECT_THAT(of("mul", 0), IsEmpty());
  EXPECT_THAT(of("add", 3), IsEmpty()) << "both share the gradient of the sum";
  EXPECT_THAT(of("add a vector", 1), IsEmpty());
  EXPECT_THAT(of("add a vector", 2), ElementsAre("add_backward"));
  EXPECT_THAT(of("sub", 1), IsEmpty());
  EXPECT_THAT(of("sub", 2), ElementsAre("sub_backward"));
  EXPECT_THAT(of("matmul", 1), ElementsAre("matmul_t"));
  EXPECT_THAT(of("matmul", 2), ElementsAre("matmul_at"));
  EXPECT_THAT(of("swiglu_matmul", 4), ElementsAre("matmul_at_swiglu_a"));
  EXPECT_THAT(of("swiglu_matmul", 1), ElementsAre("matmul_t", "silu_gate_backward"));
  EXPECT_THAT(of("conv1d", 1), ElementsAre("conv1d_backward"));
}

TEST_F(Ops, TheSumOfAResidualStreamsGradientsCostsNoPassOfItsOwn) {
  const Tensor weight = values(Shape{8}, 3);
  // norm first, then the sum, as a block does it: x's gradient comes along the stream before the norm's.
  const Tensor x = values(Shape{5, 8}, 1);
  EXPECT_THAT(
      backward_kernels([&](const Context& context) { return add(context, x, rms_norm(context, x, weight, kEps)); }),
      ElementsAre("rms_norm_residual_backward"));
  const Tensor a = values(Shape{5, 8}, 1);
  const Tensor b = values(Shape{5, 8}, 2);
  EXPECT_THAT(backward_kernels([&](const Context& context) {
                const ResidualNorm norm = rms_norm_residual(context, a, b, weight, kEps);
                return add(context, norm.y, norm.out);
              }),
              ElementsAre("rms_norm_residual_backward"));
  EXPECT_THAT(backward_kernels([&](const Context& context) {
                return rms_norm_residual(context, values(Shape{5, 8}, 1), values(Shape{5, 8}, 2), weight, kEps).y;
              }),
              IsEmpty())
      << "the norm is not used";
}

TEST_F(Ops, FusedNormAndSumGiveWhatTheTwoOpsGive) {
  std::vector<std::vector<float>> results[2];
  for (const bool fused : {false, true}) {
    Tape tape;
    const Context context{stream_, &tape};
    const Tensor x = values(Shape{37, 65}, 1);
    const Tensor residual = values(Shape{37, 65}, 2);
    const Tensor weight = values(Shape{65}, 3);
    ResidualNorm norm;
    if (fused) {
      norm = rms_norm_residual(context, x, residual, weight, kEps);
    } else {
      norm.y = add(context, x, residual);
      norm.out = rms_norm(context, norm.y, weight, kEps);
    }
    const Tensor out = mul(context, norm.y, norm.out);
    out.add_gradient(stream_, values(out.shape(), 9, false).buffer());
    tape.run_backward(stream_);
    results[fused] = {to_values(stream_, out), gradient(x), gradient(residual), gradient(weight)};
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(Ops, ALossThatEndsTheComputationIsNotMultipliedByOne) {
  const Tensor x = values(Shape{5, 8}, 1);
  const Tensor target = values(Shape{5, 8}, 2, false);
  Tape tape;
  const Tensor loss = mse_loss(Context{stream_, &tape}, x, target);
  EXPECT_THAT(launched([&] { tape.run_backward(stream_, loss); }), ElementsAre("mse_loss_backward"));
  const std::vector<float> plain = gradient(x);

  const Tensor again = values(Shape{5, 8}, 1);
  const Tensor factor = from_values(stream_, std::vector<float>{-3}, Shape{1});
  Tape scaled_tape;
  const Context scaled{stream_, &scaled_tape};
  const Tensor scaled_loss = mul(scaled, mse_loss(scaled, again, target), factor);
  EXPECT_THAT(launched([&] { scaled_tape.run_backward(stream_, scaled_loss); }),
              ElementsAre("mse_loss_backward", "mul", "mul_backward"));
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_FLOAT_EQ(gradient(again)[i], -3 * plain[i]);

  // Used twice, the loss has the gradient 2, not the 1 it began with.
  const Tensor third = values(Shape{5, 8}, 1);
  Tape twice_tape;
  const Context twice{stream_, &twice_tape};
  const Tensor once = mse_loss(twice, third, target);
  add(twice, once, once);
  const Tensor sum = add(twice, once, once);
  twice_tape.run_backward(stream_, sum);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_FLOAT_EQ(gradient(third)[i], 2 * plain[i]);
}

TEST_F(Ops, CrossEntropyWithoutTargetsIsZeroWithoutGradient) {
  const Tensor logits = values(Shape{2, 7}, 1);
  Tape tape;
  const std::vector<int32_t> ignored(2, kernels::kIgnoreTarget);
  const Tensor loss = cross_entropy(Context{stream_, &tape}, logits, ignored);
  tape.run_backward(stream_, loss);
  EXPECT_EQ(to_values(stream_, loss), std::vector<float>{0});
  EXPECT_EQ(gradient(logits), std::vector<float>(14, 0.0F));
}

TEST_F(Ops, DropoutDropsTheSameValuesOfTheGradient) {
  const Tensor x = from_values(stream_, std::vector<float>(4096, 1), Shape{16, 256});
  Tensor leaf = x;
  leaf.set_needs_gradient(true);
  Tape tape;
  const Tensor out = dropout(Context{stream_, &tape}, leaf, 0.25F, {.seed = 7, .step = 2, .layer = 1});
  out.add_gradient(stream_, x.buffer());
  tape.run_backward(stream_);
  const std::vector<float> kept = to_values(stream_, out);
  EXPECT_EQ(gradient(leaf), kept);
  const auto dropped = std::count(kept.begin(), kept.end(), 0.0F);
  EXPECT_NEAR(static_cast<double>(dropped) / 4096, 0.25, 0.03);  // four deviations
}

TEST_F(Ops, ConvolutionsThatShareAWeightButNotABiasAddUp) {
  // Backwards the second comes first: when the first's turn comes, the weight has been written and the bias has not.
  const Tensor x = values(Shape{3, 9}, 1, false);
  const Tensor weight = values(Shape{3, 3}, 2);
  const Tensor bias = values(Shape{3}, 3);
  Tape tape;
  const Context context{stream_, &tape};
  const Tensor out =
      add(context, conv1d(context, x, weight, bias), conv1d(context, x, weight, values(Shape{3}, 4, false)));
  const Tensor d_out = values(out.shape(), 5, false);
  out.add_gradient(stream_, d_out.buffer());
  tape.run_backward(stream_);
  const std::vector<float> both = gradient(weight);

  Tensor alone = values(Shape{3, 3}, 2);
  Tensor bias_alone = values(Shape{3}, 3);
  Tape single;
  const Tensor one = conv1d(Context{stream_, &single}, x, alone, bias_alone);
  one.add_gradient(stream_, d_out.buffer());
  single.run_backward(stream_);
  const std::vector<float> half = gradient(alone);
  for (size_t i = 0; i < both.size(); ++i) EXPECT_FLOAT_EQ(both[i], 2 * half[i]);
  EXPECT_EQ(gradient(bias), gradient(bias_alone));
}

TEST_F(Ops, WhatDoesNotFitIsRefusedWithWhatToPass) {
  const Context context{stream_, nullptr};
  const Tensor x = values(Shape{3, 8}, 1);
  const Tensor ids = from_ids(stream_, std::vector<uint32_t>(24));
  EXPECT_ERROR(add(context, x, values(Shape{3}, 2)),
               "add: a is (3, 8) but b is (3); pass two of one shape, or a vector of 8 values as b");
  EXPECT_ERROR(sub(context, x, values(Shape{1, 8}, 2)), "sub: a is (3, 8) but b is (1, 8)");
  EXPECT_ERROR(mul(context, x, Tensor()), "mul: b is missing");
  EXPECT_ERROR(relu(context, ids), "relu: x holds U32 but the op computes with F32");
  EXPECT_ERROR(silu(context, Tensor()), "silu: x is missing; pass a tensor");
  EXPECT_ERROR(gelu_gate(context, x, values(Shape{8, 3}, 2)), "gelu_gate: gate is (3, 8) but up is (8, 3)");
  EXPECT_ERROR(dropout(context, x, 1, {}), "dropout");
  EXPECT_ERROR(conv1d(context, x, values(Shape{3, 5}, 2), values(Shape{3}, 3)), "pass a weight of (3, 3)");
  EXPECT_ERROR(conv1d(context, x, values(Shape{3, 3}, 2), values(Shape{8}, 3)), "pass a bias of (3)");
  EXPECT_ERROR(conv1d(context, values(Shape{8}, 1), x, x), "conv1d: x is (8); pass (channels, length)");
  EXPECT_ERROR(rms_norm_residual(context, x, values(Shape{3, 7}, 2), values(Shape{8}, 3), kEps),
               "rms_norm_residual: x is (3, 8) but residual is (3, 7)");
  EXPECT_ERROR(rms_norm_residual(context, x, x, values(Shape{7}, 3), kEps), "weight has 7 values");
  EXPECT_ERROR(mse_loss(context, x, values(Shape{8, 3}, 2)), "mse_loss: prediction is (3, 8) but target is (8, 3)");
  EXPECT_ERROR(cross_entropy(context, x, kTargets), "cross_entropy: 5 targets for 3 rows of logits");
  EXPECT_ERROR(cross_entropy(context, x, std::vector<int32_t>{0, 8, 1}), "8");
  EXPECT_ERROR(cross_entropy(context, x, std::vector<int32_t>{0, 7, 1}, {.label_smoothing = 2}), "smoothing");
  EXPECT_ERROR(embedding(context, x, {}), "embedding: ids are missing");
  EXPECT_ERROR(attention(context, x, x, x, {1, 3, 2, 2, -1, 0, {}}), "window");
  EXPECT_ERROR(attention(context, x, x, x, {1, 3, 2, 2, 0, 0, x}), "attention: first_key holds F32");
}

TEST_F(Ops, ABackwardPassNeedsALossThatWasRecorded) {
  Tape tape;
  const Context context{stream_, &tape};
  const Tensor x = values(Shape{3, 8}, 1);
  EXPECT_ERROR(tape.run_backward(stream_, relu(context, x)), "run_backward: the loss has shape (3, 8)");
  const Tensor fixed = values(Shape{3, 8}, 1, false);
  EXPECT_ERROR(tape.run_backward(stream_, mse_loss(context, fixed, fixed)), "call set_needs_gradient on the weights");
}

}  // namespace
}  // namespace athanor::tensor
