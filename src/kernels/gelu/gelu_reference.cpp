// gelu as plain loops in double, its cases and its benchmarks.
#include "kernels/gelu/gelu_reference.h"

#include "kernels/gelu/gelu_internal.h"

#include <cmath>
#include <numbers>

namespace athanor::kernels {

namespace {

const double kTanhScale = std::sqrt(2 / std::numbers::pi);
constexpr double kTanhCube = 0.044715;

}  // namespace

double gelu_reference(double x, GeluForm form) {
  if (form == GeluForm::Erf) return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
  return x * 0.5 * (1 + std::tanh(kTanhScale * (x + kTanhCube * x * x * x)));
}

double gelu_slope_reference(double x, GeluForm form) {
  if (form == GeluForm::Erf) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
  }
  const double t = std::tanh(kTanhScale * (x + kTanhCube * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kTanhScale * (1 + 3 * kTanhCube * x * x);
}

std::vector<double> gelu_reference(const std::vector<double>& x, GeluForm form) {
  std::vector<double> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = gelu_reference(x[i], form);
  return out;
}

std::vector<double> gelu_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x,
                                            GeluForm form) {
  std::vector<double> d_x(x.size());
  for (size_t i = 0; i < x.size(); ++i) d_x[i] = d_out[i] * gelu_slope_reference(x[i], form);
  return d_x;
}

namespace {

ElementwiseLaunch forward_of(GeluForm form) {
  return [form](device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
    gelu(stream, {in[0], out[0], count, form});
  };
}

ElementwiseLaunch backward_of(GeluForm form) {
  return [form](device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
    gelu_backward(stream, {in[0], in[1], out[0], count, form});
  };
}

CaseResult run_forward(device::Stream& stream, const ElementwiseSize& size, GeluForm form) {
  const std::vector<float> x = test_values(size.count, 1, size.scale);
  return run_elementwise(stream, forward_of(form), {x}, {{"out", gelu_reference(to_double(x), form)}});
}

CaseResult run_backward(device::Stream& stream, const ElementwiseSize& size, GeluForm form) {
  const std::vector<float> d_out = test_values(size.count, 3);
  const std::vector<float> x = test_values(size.count, 1, size.scale);
  return run_elementwise(stream, backward_of(form), {d_out, x},
                         {{"d_x", gelu_backward_reference(to_double(d_out), to_double(x), form)}});
}

}  // namespace

std::vector<KernelCase> cases_of_forms(
    const std::function<CaseResult(device::Stream&, const ElementwiseSize&, GeluForm)>& run) {
  std::vector<KernelCase> cases;
  for (const GeluForm form : {GeluForm::Erf, GeluForm::Tanh}) {
    const auto run_form = [run, form](device::Stream& stream, const ElementwiseSize& size) {
      return run(stream, size, form);
    };
    for (KernelCase& kernel_case : elementwise_cases(run_form)) {
      kernel_case.name = (form == GeluForm::Erf ? "erf, " : "tanh, ") + kernel_case.name;
      cases.push_back(std::move(kernel_case));
    }
  }
  return cases;
}

std::vector<KernelCase> gelu_cases() { return cases_of_forms(run_forward); }
std::vector<KernelCase> gelu_backward_cases() { return cases_of_forms(run_backward); }

// The erf form, which has more arithmetic.
KernelBench bench_gelu(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, forward_of(GeluForm::Erf), 1, 1, kGeluFlops);
}

KernelBench bench_gelu_backward(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, backward_of(GeluForm::Erf), 2, 1, kGeluBackwardFlops);
}

}  // namespace athanor::kernels
