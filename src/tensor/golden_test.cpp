// Every op with a gradient against PyTorch's numbers (tests/golden/make_ops_golden.py, which holds the same cases and constants).
#include "base/safetensors.h"
#include "kernels/compare.h"
#include "kernels/rope/rope.h"
#include "tensor/ops.h"
#include "test_device.h"

#include <gtest/gtest.h>

#include <cstring>

namespace athanor::tensor {
namespace {

using kernels::allowed_f32;
using kernels::CaseResult;

constexpr float kEps = 1e-5F;

const SafetensorsFile& golden_file() {
  static const SafetensorsFile file(std::filesystem::path(ATHANOR_SOURCE_DIR) / "tests/golden/ops.safetensors");
  return file;
}

template <typename T>
std::vector<T> elements(const TensorEntry& entry) {
  std::vector<T> values(entry.bytes.size() / sizeof(T));
  std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

struct Named {
  const char* name;
  Tensor tensor;
};

class OpGolden : public ::testing::Test {
 protected:
  const TensorEntry& entry(const std::string& name) const { return golden_file().at(case_ + "." + name); }

  std::vector<double> wanted(const std::string& name) const {
    const TensorEntry& found = entry(name);
    if (found.dtype == DType::F64) return elements<double>(found);
    return kernels::to_double(elements<float>(found));
  }

  /// An f32 tensor of the case, which needs a gradient when the file has one for it.
  Tensor input(const std::string& name) {
    const TensorEntry& found = entry(name);
    EXPECT_EQ(found.dtype, DType::F32) << name;
    Tensor tensor = from_values(stream_, elements<float>(found), Shape(found.shape), name);
    tensor.set_needs_gradient(golden_file().find(case_ + ".d_" + name) != nullptr);
    return tensor;
  }

  void expect_values(const std::string& name, const Buffer& got, double allowed) {
    CaseResult result;
    kernels::compare(result, name, to_values(stream_, got), wanted(name), allowed);
    EXPECT_TRUE(result.passed()) << case_ << ": " << result.where << ": error " << result.largest_error << ", allowed "
                                 << result.allowed_error;
  }

  /// Compares outputs, runs the tape from their gradients in the file, and compares the gradients of all inputs.
  void expect(std::initializer_list<Named> outputs, std::initializer_list<Named> inputs, double allowed) {
    for (const Named& output : outputs) {
      expect_values(output.name, output.tensor.buffer(), allowed);
      const Tensor gradient = from_values(stream_, elements<float>(entry(std::string("d_") + output.name)),
                                          output.tensor.shape(), "gradient of an output");
      output.tensor.add_gradient(stream_, gradient.buffer());
    }
    tape_.run_backward(stream_);
    for (const Named& one : inputs) {
      ASSERT_TRUE(one.tensor.gradient()) << case_ << ": no gradient for " << one.name;
      expect_values(std::string("d_") + one.name, one.tensor.gradient(), allowed);
    }
  }

  template <typename Op>
  void expect_unary(const char* name, double allowed, Op op) {
    case_ = name;
    const Tensor x = input("x");
    expect({{"out", op(x)}}, {{"x", x}}, allowed);
  }

  template <typename Op>
  void expect_binary(const char* name, const char* first, const char* second, double allowed, Op op) {
    case_ = name;
    const Tensor a = input(first);
    const Tensor b = input(second);
    expect({{"out", op(a, b)}}, {{first, a}, {second, b}}, allowed);
  }

  std::string case_;
  Stream& stream_ = testing::stream();
  Tape tape_;
  Context context_{stream_, &tape_};
};

TEST_F(OpGolden, SumsDifferencesAndProducts) {
  const auto both = [&](const std::string& name, Tensor (*op)(const Context&, const Tensor&, const Tensor&)) {
    const auto run = [&](const Tensor& a, const Tensor& b) { return op(context_, a, b); };
    expect_binary(name.c_str(), "a", "b", allowed_f32(1), run);
    expect_binary((name + "_vector").c_str(), "a", "b", allowed_f32(3 * 23), run);
  };
  both("add", add);
  both("sub", sub);
  both("mul", mul);
}

TEST_F(OpGolden, Activations) {
  expect_unary("relu", allowed_f32(1), [&](const Tensor& x) { return relu(context_, x); });
  expect_unary("silu", allowed_f32(1), [&](const Tensor& x) { return silu(context_, x); });
  expect_unary("gelu_erf", allowed_f32(1), [&](const Tensor& x) { return gelu(context_, x); });
  expect_unary("gelu_tanh", allowed_f32(1), [&](const Tensor& x) { return gelu(context_, x, GeluForm::Tanh); });
  expect_unary("dropout", 0, [&](const Tensor& x) { return dropout(context_, x, 0, {}); });
}

TEST_F(OpGolden, Gates) {
  expect_binary("silu_gate", "gate", "up", allowed_f32(1),
                [&](const Tensor& gate, const Tensor& up) { return silu_gate(context_, gate, up); });
  expect_binary("gelu_gate_erf", "gate", "up", allowed_f32(1),
                [&](const Tensor& gate, const Tensor& up) { return gelu_gate(context_, gate, up); });
  expect_binary("gelu_gate_tanh", "gate", "up", allowed_f32(1),
                [&](const Tensor& gate, const Tensor& up) { return gelu_gate(context_, gate, up, GeluForm::Tanh); });
}

TEST_F(OpGolden, SoftmaxWithMaskedValues) {
  expect_unary("softmax", allowed_f32(21), [&](const Tensor& x) { return softmax(context_, x); });
}

TEST_F(OpGolden, Norms) {
  expect_binary("rms_norm", "x", "weight", allowed_f32(36 + 10),
                [&](const Tensor& x, const Tensor& weight) { return rms_norm(context_, x, weight, kEps); });
  expect_binary("rms_norm_offset", "x", "weight", allowed_f32(21 + 9),
                [&](const Tensor& x, const Tensor& weight) { return rms_norm(context_, x, weight, kEps, 1); });
  case_ = "rms_norm_residual";
  const Tensor x = input("x");
  const Tensor residual = input("residual");
  const Tensor weight = input("weight");
  const ResidualNorm norm = rms_norm_residual(context_, x, residual, weight, kEps);
  expect({{"out", norm.out}, {"y", norm.y}}, {{"x", x}, {"residual", residual}, {"weight", weight}},
         allowed_f32(20 + 9));
}

TEST_F(OpGolden, Embedding) {
  case_ = "embedding";
  const Tensor table = input("table");
  const std::vector<uint32_t> ids = elements<uint32_t>(entry("ids"));
  const Tensor out = embedding(context_, table, upload_token_ids(context_, ids, 11));
  expect({{"out", out}}, {{"table", table}}, allowed_f32(7));
}

TEST_F(OpGolden, RotaryPositions) {
  const std::vector<float> angles = kernels::rope_table(8, 8, 10000.0);
  const Tensor table = from_values(stream_, angles, Shape{8, 8});
  expect_unary("rope", allowed_f32(2), [&](const Tensor& x) { return rope(context_, x, table, 3, 5, 3); });
}

TEST_F(OpGolden, Convolution) {
  case_ = "conv1d";
  const Tensor x = input("x");
  const Tensor weight = input("weight");
  const Tensor bias = input("bias");
  expect({{"out", conv1d(context_, x, weight, bias)}}, {{"x", x}, {"weight", weight}, {"bias", bias}},
         allowed_f32(3 * 15));
}

TEST_F(OpGolden, Products) {
  expect_binary("matmul", "x", "w", allowed_f32(20),
                [&](const Tensor& x, const Tensor& w) { return matmul(context_, x, w); });
  expect_binary("matmul_t", "x", "w", allowed_f32(20),
                [&](const Tensor& x, const Tensor& w) { return matmul_t(context_, x, w); });
  case_ = "swiglu_matmul";
  const Tensor gate = input("gate");
  const Tensor up = input("up");
  const Tensor w = input("w");
  expect({{"out", swiglu_matmul(context_, gate, up, w)}}, {{"gate", gate}, {"up", up}, {"w", w}}, allowed_f32(18));
}

TEST_F(OpGolden, Attention) {
  // As the kernel's own cases: sums over keys and heads of a group, and scores of up to 8 whose rounding the exponential takes up.
  for (const bool with_all : {false, true}) {
    case_ = with_all ? "attention_all" : "attention";
    const Tensor q = input("q");
    const Tensor k = input("k");
    const Tensor v = input("v");
    AttentionShape shape{2, 13, 4, 2};
    if (with_all) {
      shape.window = 4;
      shape.soft_cap = 1.5F;
      shape.first_key = from_ids(stream_, elements<uint32_t>(entry("first_key")), "first_key");
    }
    expect({{"out", attention(context_, q, k, v, shape)}}, {{"q", q}, {"k", k}, {"v", v}},
           allowed_f32(13 * 2) + (1 + 8) * allowed_f32(8));
  }
}

struct TermsCase {
  const char* name;
  CrossEntropyTerms terms;
};
const TermsCase kTerms[] = {{"plain", {}},
                            {"smoothing", {.label_smoothing = 0.125F}},
                            {"z_loss", {.z_loss = 0.0625F}},
                            {"soft_cap", {.soft_cap = 3}},
                            {"all", {.label_smoothing = 0.125F, .z_loss = 0.0625F, .soft_cap = 3}}};

TEST_F(OpGolden, SquaredErrors) {
  expect_binary("mse_loss", "prediction", "target", allowed_f32(42),
                [&](const Tensor& prediction, const Tensor& target) { return mse_loss(context_, prediction, target); });
}

TEST_F(OpGolden, CrossEntropyWithEachTerm) {
  for (const TermsCase& one : kTerms) {
    case_ = std::string("cross_entropy_") + one.name;
    const Tensor logits = input("logits");
    const Tensor loss = cross_entropy(context_, logits, elements<int32_t>(entry("targets")), one.terms);
    expect({{"out", loss}}, {{"logits", logits}},
           allowed_f32(23) + static_cast<double>(one.terms.soft_cap) * allowed_f32(1));
  }
}

TEST_F(OpGolden, TheHeadWithEachTerm) {
  for (const TermsCase& one : kTerms) {
    case_ = std::string("cross_entropy_head_") + one.name;
    const Tensor x = input("x");
    const Tensor head = input("head");
    const Buffer loss_sum = stream_.device().allocate(4, "loss");
    stream_.fill_zero(loss_sum);
    cross_entropy_head(context_, x, head, elements<int32_t>(entry("targets")), 1.0F / 6, loss_sum, one.terms);
    const double allowed = allowed_f32(23 + 12) + static_cast<double>(one.terms.soft_cap) * allowed_f32(1);
    expect_values("out", loss_sum, allowed);
    expect_values("d_x", x.gradient(), allowed);
    expect_values("d_head", head.gradient(), allowed);
  }
}

}  // namespace
}  // namespace athanor::tensor
