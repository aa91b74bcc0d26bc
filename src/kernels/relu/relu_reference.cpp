// relu as plain loops in double, its cases and its benchmarks.
#include "kernels/relu/relu_reference.h"

#include "kernels/elementwise_cases.h"
#include "kernels/relu/relu.h"

#include <algorithm>

namespace athanor::kernels {

std::vector<double> relu_reference(const std::vector<double>& x) {
  std::vector<double> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = std::max(x[i], 0.0);
  return out;
}

std::vector<double> relu_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x) {
  std::vector<double> d_x(x.size());
  for (size_t i = 0; i < x.size(); ++i) d_x[i] = x[i] > 0 ? d_out[i] : 0;
  return d_x;
}

namespace {

void launch_forward(device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
  relu(stream, {in[0], out[0], count});
}

void launch_backward(device::Stream& stream, const Buffers& in, const Buffers& out, int64_t count) {
  relu_backward(stream, {in[0], in[1], out[0], count});
}

CaseResult run_forward(device::Stream& stream, const ElementwiseSize& size) {
  const std::vector<float> x = test_values(size.count, 1, size.scale);
  return run_elementwise(stream, launch_forward, {x}, {{"out", relu_reference(to_double(x))}});
}

CaseResult run_backward(device::Stream& stream, const ElementwiseSize& size) {
  const std::vector<float> d_out = test_values(size.count, 3);
  const std::vector<float> x = test_values(size.count, 1, size.scale);
  return run_elementwise(stream, launch_backward, {d_out, x},
                         {{"d_x", relu_backward_reference(to_double(d_out), to_double(x))}});
}

}  // namespace

std::vector<KernelCase> relu_cases() { return elementwise_cases(run_forward); }
std::vector<KernelCase> relu_backward_cases() { return elementwise_cases(run_backward); }

KernelBench bench_relu(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, launch_forward, 1, 1, 1);
}

KernelBench bench_relu_backward(device::Stream& stream, int64_t bytes) {
  return bench_elementwise(stream, bytes, launch_backward, 2, 1, 1);
}

}  // namespace athanor::kernels
