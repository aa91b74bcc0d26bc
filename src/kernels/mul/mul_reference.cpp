// mul as plain loops in double, the shapes it is tried at and its benchmarks.
#include "kernels/mul/mul_reference.h"

#include "kernels/mul/mul.h"

namespace athanor::kernels {

std::vector<double> mul_reference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] * b[i % b.size()];
  return out;
}

BroadcastGradients mul_backward_reference(const std::vector<double>& d_out, const std::vector<double>& a,
                                          const std::vector<double>& b) {
  BroadcastGradients gradients{std::vector<double>(a.size()), std::vector<double>(b.size())};
  for (size_t i = 0; i < a.size(); ++i) {
    gradients.d_a[i] = d_out[i] * b[i % b.size()];
    gradients.d_b[i % b.size()] += d_out[i] * a[i];
  }
  return gradients;
}

namespace {

CaseResult run_backward(device::Stream& stream, const BroadcastCase& shape) {
  const int64_t count = shape.rows * shape.columns;
  const std::vector<float> d_out = test_values(count, 3);
  const std::vector<float> a = test_values(count, 1);
  const std::vector<float> b = test_values(shape.columns, 2);
  const MulBackward args{upload_values(stream, d_out),
                         upload_values(stream, a),
                         upload_values(stream, b),
                         wanted_result(stream, shape.wanted != Wanted::OnlyB, count),
                         wanted_result(stream, shape.wanted != Wanted::OnlyA, shape.columns),
                         count,
                         shape.rows == 1 ? 0 : shape.columns};
  mul_backward(stream, args);
  return compare_gradients(stream, shape, args.d_a, args.d_b,
                           mul_backward_reference(to_double(d_out), to_double(a), to_double(b)));
}

}  // namespace

std::vector<KernelCase> mul_cases() {
  return cases_at(broadcast_cases(), [](device::Stream& stream, const BroadcastCase& shape) {
    return run_broadcast(stream, shape, mul, mul_reference);
  });
}

std::vector<KernelCase> mul_backward_cases() {
  std::vector<KernelCase> cases = cases_at(broadcast_cases(), run_backward);
  for (KernelCase& half : cases_at(broadcast_halves(), run_backward)) cases.push_back(std::move(half));
  return cases;
}

KernelBench bench_mul(device::Stream& stream, int64_t bytes) { return bench_broadcast(stream, bytes, mul); }

KernelBench bench_mul_backward(device::Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const MulBackward args{repeated_test_values(stream, count, 3),
                         repeated_test_values(stream, count, 1),
                         repeated_test_values(stream, kBenchColumns, 2),
                         stream.device().allocate(count * 4, "benchmark result"),
                         stream.device().allocate(kBenchColumns * 4, "benchmark result"),
                         count,
                         kBenchColumns};
  const device::KernelCost cost{3.0 * count, 12.0 * count + 8.0 * kBenchColumns};
  return {bench_sizes(count), cost, [&stream, args] { mul_backward(stream, args); }};
}

}  // namespace athanor::kernels
