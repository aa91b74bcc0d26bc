// silu as plain loops in double, its cases and its benchmarks.
#include "kernels/silu/silu_reference.h"

#include "kernels/elementwise_cases.h"
#include "kernels/silu/silu.h"

#include <cmath>

namespace athanor::kernels {

std::vector<double> silu_reference(const std::vector<double>& x) {
  std::vector<double> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] / (1 + std::exp(-x[i]));
  return out;
}

std::vector<double> silu_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x) {
  std::vector<double> d_x(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double s = 1 / (1 + std::exp(-x[i]));
    d_x[i] = d_out[i] * s * (1 + x[i] * (1 - s));
  }
  return d_x;
}

namespace {

void launch_forward(device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
  silu(stream, {in[0], out[0], count});
}

void launch_backward(device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
  silu_backward(stream, {in[0], in[1], out[0], count});
}

CaseResult run_forward(device::Stream& stream, const ElementwiseSize& size) {
  const std::vector<float> x = test_values(size.count, 1, size.scale);
  return run_elementwise(stream, launch_forward, {x}, {{"out", silu_reference(to_double(x))}});
}

CaseResult run_backward(device::Stream& stream, const ElementwiseSize& size) {
  const std::vector<float> d_out = test_values(size.count, 3);
  const std::vector<float> x = test_values(size.count, 1, size.scale);
  return run_elementwise(stream, launch_backward, {d_out, x},
                         {{"d_x", silu_backward_reference(to_double(d_out), to_double(x))}});
}

}  // namespace

std::vector<KernelCase> silu_cases() { return elementwise_cases(run_forward); }
std::vector<KernelCase> silu_backward_cases() { return elementwise_cases(run_backward); }

KernelBench bench_silu(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, launch_forward, 1, 1, 4);
}

KernelBench bench_silu_backward(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, launch_backward, 2, 1, 9);
}

}  // namespace athanor::kernels
