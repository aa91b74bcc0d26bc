// silu_gate as plain loops in double, and the sizes it is tried at.
#include "kernels/silu_gate/silu_gate_reference.h"

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

struct Size {
  int64_t count;
  float gate_scale;
  bool in_doctor;
};

// Below and above a workgroup of 256 threads, with and without the four-wide variant, gates of 1e4, and a real activation (1024 x 1024).
const std::vector<Size> kSizes = {{1, 3, false},    {3, 3, false},    {4, 3, true},       {5, 3, false},
                                  {63, 3, true},    {65, 3, false},   {257, 3, false},    {4100, 3, false},
                                  {2006, 3, false}, {65, 1e4F, true}, {1028, 1e4F, true}, {1024 * 1024, 3, false}};

CaseResult run_forward(device::Stream& stream, const Size& size) {
  const std::vector<float> gate = test_values(size.count, 1, size.gate_scale);
  const std::vector<float> up = test_values(size.count, 2);
  const SiluGate args{upload_values(stream, gate), upload_values(stream, up), poisoned(stream, size.count), size.count};
  silu_gate(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), silu_gate_reference(to_double(gate), to_double(up)),
          allowed_f32(1));
  return result;
}

CaseResult run_backward(device::Stream& stream, const Size& size) {
  const std::vector<float> d_out = test_values(size.count, 3);
  const std::vector<float> gate = test_values(size.count, 1, size.gate_scale);
  const std::vector<float> up = test_values(size.count, 2);
  const SiluGateBackward args{upload_values(stream, d_out), upload_values(stream, gate),  upload_values(stream, up),
                              poisoned(stream, size.count), poisoned(stream, size.count), size.count};
  silu_gate_backward(stream, args);
  const SiluGateGradients want = silu_gate_backward_reference(to_double(d_out), to_double(gate), to_double(up));
  CaseResult result;
  compare(result, "d_gate", download_values(stream, args.d_gate), want.d_gate, allowed_f32(1));
  compare(result, "d_up", download_values(stream, args.d_up), want.d_up, allowed_f32(1));
  return result;
}

std::vector<KernelCase> cases_of(CaseResult (*run)(device::Stream&, const Size&)) {
  std::vector<KernelCase> cases;
  for (const Size& size : kSizes) {
    cases.push_back({fmt::format("count {}, gates of {}", size.count, size.gate_scale), size.in_doctor,
                     [run, size](device::Stream& stream) { return run(stream, size); }});
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> silu_gate_cases() { return cases_of(run_forward); }
std::vector<KernelCase> silu_gate_backward_cases() { return cases_of(run_backward); }

}  // namespace athanor::kernels
