// gelu_gate: wrong use, saturation, folding of a long grid, and the plain loop's own gradient against finite differences. The cases
// against the plain loop run in kernels/cases_test.cpp.
#include "kernels/gelu_gate/gelu_gate.h"

#include "base/expect_error.h"
#include "kernels/finite_difference.h"
#include "kernels/folded_cases.h"
#include "kernels/gelu_gate/gelu_gate_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

const std::vector<GeluForm> kForms = {GeluForm::Erf, GeluForm::Tanh};

TEST(GeluGate, RefusesAnUpOfAnotherSize) {
  device::Stream& stream = testing::stream();
  const GeluGate args{poisoned(stream, 8), poisoned(stream, 7), poisoned(stream, 8), 8};
  EXPECT_ERROR(gelu_gate(stream, args), "gelu_gate: up has 28 bytes but 8 values");
}

TEST(GeluGateBackward, RefusesAMissingGradient) {
  device::Stream& stream = testing::stream();
  const GeluGateBackward args{poisoned(stream, 8), poisoned(stream, 8), poisoned(stream, 8),
                              poisoned(stream, 8), device::Buffer(),    8};
  EXPECT_ERROR(gelu_gate_backward(stream, args), "gelu_gate_backward: d_up is missing");
}

TEST(GeluGate, SaturatesForLargeGates) {
  device::Stream& stream = testing::stream();
  const std::vector<float> gate = {-1e4F, -1e3F, -100, 100, 1e3F, 1e4F, 0, 1};
  const device::Buffer ones = upload_values(stream, std::vector<float>(8, 1.0F));
  for (const GeluForm form : kForms) {
    const GeluGate forward{upload_values(stream, gate), ones, poisoned(stream, 8), 8, form};
    gelu_gate(stream, forward);
    const std::vector<float> out = download_values(stream, forward.out);
    const GeluGateBackward backward{ones, forward.gate, ones, poisoned(stream, 8), poisoned(stream, 8), 8, form};
    gelu_gate_backward(stream, backward);
    const std::vector<float> d_gate = download_values(stream, backward.d_gate);
    const std::vector<float> d_up = download_values(stream, backward.d_up);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(out[i], 0, 1e-20) << i;
      EXPECT_NEAR(d_gate[i], 0, 1e-20) << i;
      EXPECT_NEAR(d_up[i], 0, 1e-20) << i;
      EXPECT_FLOAT_EQ(out[i + 3], gate[i + 3]);
      EXPECT_FLOAT_EQ(d_gate[i + 3], 1);
      EXPECT_FLOAT_EQ(d_up[i + 3], gate[i + 3]);
    }
  }
}

TEST(GeluGate, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  for (const std::vector<KernelCase>& cases : {gelu_gate_cases(), gelu_gate_backward_cases()}) {
    expect_folded_cases_pass(cases, 3, {"erf, count 2006, values of 3", "tanh, count 4100, values of 3"});
  }
}

TEST(GeluGate, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> gate = to_double(test_values(9, 1, 2.0F));
  const std::vector<double> up = to_double(test_values(9, 2));
  const std::vector<double> d_out = to_double(test_values(9, 3));
  for (const GeluForm form : kForms) {
    const GeluGateGradients gradients = gelu_gate_backward_reference(d_out, gate, up, form);
    expect_gradient(gate, gradients.d_gate, d_out,
                    [&](const std::vector<double>& moved) { return gelu_gate_reference(moved, up, form); });
    expect_gradient(up, gradients.d_up, d_out,
                    [&](const std::vector<double>& moved) { return gelu_gate_reference(gate, moved, form); });
  }
}

}  // namespace
}  // namespace athanor::kernels
