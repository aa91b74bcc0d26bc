// silu_gate: wrong use, saturation, folding of a long grid, and the plain loop's own gradient against finite differences. The cases
// against the plain loop run in kernels/cases_test.cpp.
#include "kernels/silu_gate/silu_gate.h"

#include "base/expect_error.h"
#include "kernels/finite_difference.h"
#include "kernels/folded_cases.h"
#include "kernels/silu_gate/silu_gate_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(SiluGate, RefusesAnUpOfAnotherSize) {
  device::Stream& stream = testing::stream();
  const SiluGate args{poisoned(stream, 8), poisoned(stream, 7), poisoned(stream, 8), 8};
  EXPECT_ERROR(silu_gate(stream, args), "silu_gate: up has 28 bytes but 8 values");
}

TEST(SiluGateBackward, RefusesAMissingGradient) {
  device::Stream& stream = testing::stream();
  const SiluGateBackward args{poisoned(stream, 8), poisoned(stream, 8), poisoned(stream, 8),
                              poisoned(stream, 8), device::Buffer(),    8};
  EXPECT_ERROR(silu_gate_backward(stream, args), "silu_gate_backward: d_up is missing");
}

TEST(SiluGate, SaturatesForLargeGates) {
  device::Stream& stream = testing::stream();
  const std::vector<float> gate = {-1e4F, -1e3F, -100, 100, 1e3F, 1e4F, 0, 1};
  const std::vector<float> ones(8, 1.0F);
  const SiluGate forward{upload_values(stream, gate), upload_values(stream, ones), poisoned(stream, 8), 8};
  silu_gate(stream, forward);
  const std::vector<float> out = download_values(stream, forward.out);
  const SiluGateBackward backward{upload_values(stream, ones), forward.gate,        forward.up,
                                  poisoned(stream, 8),         poisoned(stream, 8), 8};
  silu_gate_backward(stream, backward);
  const std::vector<float> d_gate = download_values(stream, backward.d_gate);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(out[i], 0, 1e-20) << i;
    EXPECT_NEAR(d_gate[i], 0, 1e-20) << i;
    EXPECT_FLOAT_EQ(out[i + 3], gate[i + 3]);
    EXPECT_FLOAT_EQ(d_gate[i + 3], 1);
  }
}

TEST(SiluGate, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  for (const std::vector<KernelCase>& cases : {silu_gate_cases(), silu_gate_backward_cases()}) {
    expect_folded_cases_pass(cases, 3, {"count 2006, values of 3", "count 4100, values of 3"});
  }
}

TEST(SiluGate, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> gate = to_double(test_values(9, 1, 2.0F));
  const std::vector<double> up = to_double(test_values(9, 2));
  const std::vector<double> d_out = to_double(test_values(9, 3));
  const SiluGateGradients gradients = silu_gate_backward_reference(d_out, gate, up);
  expect_gradient(gate, gradients.d_gate, d_out,
                  [&](const std::vector<double>& moved) { return silu_gate_reference(moved, up); });
  expect_gradient(up, gradients.d_up, d_out,
                  [&](const std::vector<double>& moved) { return silu_gate_reference(gate, moved); });
}

}  // namespace
}  // namespace athanor::kernels
