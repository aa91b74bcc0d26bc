// gelu_gate as plain loops in double, its cases and its benchmarks.
#include "kernels/gelu_gate/gelu_gate_reference.h"

#include "kernels/elementwise_cases.h"
#include "kernels/gelu/gelu_internal.h"
#include "kernels/gelu/gelu_reference.h"
#include "kernels/gelu_gate/gelu_gate.h"

namespace athanor::kernels {

std::vector<double> gelu_gate_reference(const std::vector<double>& gate, const std::vector<double>& up, GeluForm form) {
  std::vector<double> out(gate.size());
  for (size_t i = 0; i < gate.size(); ++i) out[i] = gelu_reference(gate[i], form) * up[i];
  return out;
}

GeluGateGradients gelu_gate_backward_reference(const std::vector<double>& d_out, const std::vector<double>& gate,
                                               const std::vector<double>& up, GeluForm form) {
  GeluGateGradients gradients{std::vector<double>(gate.size()), std::vector<double>(gate.size())};
  for (size_t i = 0; i < gate.size(); ++i) {
    gradients.d_gate[i] = d_out[i] * up[i] * gelu_slope_reference(gate[i], form);
    gradients.d_up[i] = d_out[i] * gelu_reference(gate[i], form);
  }
  return gradients;
}

namespace {

ElementwiseLaunch forward_of(GeluForm form) {
  return [form](device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
    gelu_gate(stream, {in[0], in[1], out[0], count, form});
  };
}

ElementwiseLaunch backward_of(GeluForm form) {
  return [form](device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
    gelu_gate_backward(stream, {in[0], in[1], in[2], out[0], out[1], count, form});
  };
}

CaseResult run_forward(device::Stream& stream, const ElementwiseSize& size, GeluForm form) {
  const std::vector<float> gate = test_values(size.count, 1, size.scale);
  const std::vector<float> up = test_values(size.count, 2);
  return run_elementwise(stream, forward_of(form), {gate, up},
                         {{"out", gelu_gate_reference(to_double(gate), to_double(up), form)}});
}

CaseResult run_backward(device::Stream& stream, const ElementwiseSize& size, GeluForm form) {
  const std::vector<float> d_out = test_values(size.count, 3);
  const std::vector<float> gate = test_values(size.count, 1, size.scale);
  const std::vector<float> up = test_values(size.count, 2);
  const GeluGateGradients want = gelu_gate_backward_reference(to_double(d_out), to_double(gate), to_double(up), form);
  return run_elementwise(stream, backward_of(form), {d_out, gate, up}, {{"d_gate", want.d_gate}, {"d_up", want.d_up}});
}

}  // namespace

std::vector<KernelCase> gelu_gate_cases() { return cases_of_forms(run_forward); }
std::vector<KernelCase> gelu_gate_backward_cases() { return cases_of_forms(run_backward); }

// The erf form, which has more arithmetic.
KernelBench bench_gelu_gate(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, forward_of(GeluForm::Erf), 2, 1, kGeluFlops + 1);
}

KernelBench bench_gelu_gate_backward(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, backward_of(GeluForm::Erf), 3, 2, kGeluBackwardFlops + 3);
}

}  // namespace athanor::kernels
