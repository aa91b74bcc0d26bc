// silu_gate as plain loops in double, its cases and its benchmarks.
#include "kernels/silu_gate/silu_gate_reference.h"

#include "kernels/elementwise_cases.h"
#include "kernels/silu_gate/silu_gate.h"

#include <cmath>

namespace athanor::kernels {

std::vector<double> silu_gate_reference(const std::vector<double>& gate, const std::vector<double>& up) {
  std::vector<double> out(gate.size());
  for (size_t i = 0; i < gate.size(); ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return out;
}

SiluGateGradients silu_gate_backward_reference(const std::vector<double>& d_out, const std::vector<double>& gate,
                                               const std::vector<double>& up) {
  SiluGateGradients gradients{std::vector<double>(gate.size()), std::vector<double>(gate.size())};
  for (size_t i = 0; i < gate.size(); ++i) {
    const double s = 1 / (1 + std::exp(-gate[i]));
    gradients.d_gate[i] = d_out[i] * up[i] * s * (1 + gate[i] * (1 - s));
    gradients.d_up[i] = d_out[i] * gate[i] * s;
  }
  return gradients;
}

namespace {

void launch_forward(device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
  silu_gate(stream, {in[0], in[1], out[0], count});
}

void launch_backward(device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
  silu_gate_backward(stream, {in[0], in[1], in[2], out[0], out[1], count});
}

CaseResult run_forward(device::Stream& stream, const ElementwiseSize& size) {
  const std::vector<float> gate = test_values(size.count, 1, size.scale);
  const std::vector<float> up = test_values(size.count, 2);
  return run_elementwise(stream, launch_forward, {gate, up},
                         {{"out", silu_gate_reference(to_double(gate), to_double(up))}});
}

CaseResult run_backward(device::Stream& stream, const ElementwiseSize& size) {
  const std::vector<float> d_out = test_values(size.count, 3);
  const std::vector<float> gate = test_values(size.count, 1, size.scale);
  const std::vector<float> up = test_values(size.count, 2);
  const SiluGateGradients want = silu_gate_backward_reference(to_double(d_out), to_double(gate), to_double(up));
  return run_elementwise(stream, launch_backward, {d_out, gate, up}, {{"d_gate", want.d_gate}, {"d_up", want.d_up}});
}

}  // namespace

std::vector<KernelCase> silu_gate_cases() { return elementwise_cases(run_forward); }
std::vector<KernelCase> silu_gate_backward_cases() { return elementwise_cases(run_backward); }

KernelBench bench_silu_gate(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, launch_forward, 2, 1, 5);
}

KernelBench bench_silu_gate_backward(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, launch_backward, 3, 2, 11);
}

}  // namespace athanor::kernels
