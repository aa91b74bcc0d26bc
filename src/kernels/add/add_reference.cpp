// add and sub as plain loops in double, the shapes they are tried at and their benchmarks.
#include "kernels/add/add_reference.h"

#include "kernels/add/add.h"

namespace athanor::kernels {

std::vector<double> add_reference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] + b[i % b.size()];
  return out;
}

std::vector<double> sub_reference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] - b[i % b.size()];
  return out;
}

BroadcastGradients add_backward_reference(const std::vector<double>& d_out, size_t b_size) {
  BroadcastGradients gradients{d_out, std::vector<double>(b_size)};
  for (size_t i = 0; i < d_out.size(); ++i) gradients.d_b[i % b_size] += d_out[i];
  return gradients;
}

BroadcastGradients sub_backward_reference(const std::vector<double>& d_out, size_t b_size) {
  BroadcastGradients gradients{d_out, std::vector<double>(b_size)};
  for (size_t i = 0; i < d_out.size(); ++i) gradients.d_b[i % b_size] -= d_out[i];
  return gradients;
}

namespace {

using BackwardDoor = void (*)(device::Stream&, const AddBackward&);
using BackwardReference = BroadcastGradients (*)(const std::vector<double>&, size_t);

CaseResult run_backward(device::Stream& stream, const BroadcastCase& shape, BackwardDoor door,
                        BackwardReference reference) {
  const int64_t count = shape.rows * shape.columns;
  const std::vector<float> d_out = test_values(count, 3);
  const AddBackward args{upload_values(stream, d_out), wanted_result(stream, shape.wanted != Wanted::OnlyB, count),
                         wanted_result(stream, shape.wanted != Wanted::OnlyA, shape.columns), count,
                         shape.rows == 1 ? 0 : shape.columns};
  door(stream, args);
  return compare_gradients(stream, shape, args.d_a, args.d_b,
                           reference(to_double(d_out), static_cast<size_t>(shape.columns)));
}

std::vector<KernelCase> backward_cases(BackwardDoor door, BackwardReference reference) {
  const auto run = [door, reference](device::Stream& stream, const BroadcastCase& shape) {
    return run_backward(stream, shape, door, reference);
  };
  std::vector<KernelCase> cases = cases_at(broadcast_cases(), run);
  for (KernelCase& half : cases_at(broadcast_halves(), run)) cases.push_back(std::move(half));
  return cases;
}

CaseResult run_accumulate(device::Stream& stream, const BroadcastCase& shape) {
  const std::vector<float> from = test_values(shape.columns, 1);
  const std::vector<float> into = test_values(shape.columns, 2);
  const AddInto args{upload_values(stream, from), upload_values(stream, into), shape.columns};
  gradient_accumulate(stream, args);
  CaseResult result;
  compare(result, "into", download_values(stream, args.into), add_reference(to_double(into), to_double(from)),
          allowed_f32(1));
  compare(result, "from", download_values(stream, args.from), to_double(from), allowed_f32(1));
  return result;
}

KernelBench bench_backward(device::Stream& stream, int64_t bytes, BackwardDoor door) {
  const int64_t count = bytes / 4;
  const AddBackward args{repeated_test_values(stream, count, 3),
                         stream.device().allocate(count * 4, "benchmark result"),
                         stream.device().allocate(kBenchColumns * 4, "benchmark result"), count, kBenchColumns};
  const device::KernelCost cost{1.0 * count, 8.0 * count + 4.0 * kBenchColumns};
  return {bench_sizes(count), cost, [&stream, args, door] { door(stream, args); }};
}

}  // namespace

std::vector<KernelCase> add_cases() {
  return cases_at(broadcast_cases(), [](device::Stream& stream, const BroadcastCase& shape) {
    return run_broadcast(stream, shape, add, add_reference);
  });
}

std::vector<KernelCase> sub_cases() {
  return cases_at(broadcast_cases(), [](device::Stream& stream, const BroadcastCase& shape) {
    return run_broadcast(stream, shape, sub, sub_reference);
  });
}

std::vector<KernelCase> add_backward_cases() { return backward_cases(add_backward, add_backward_reference); }
std::vector<KernelCase> sub_backward_cases() { return backward_cases(sub_backward, sub_backward_reference); }

std::vector<KernelCase> gradient_accumulate_cases() {
  std::vector<BroadcastCase> shapes;
  for (const BroadcastCase& shape : broadcast_cases()) {
    if (shape.rows == 1) shapes.push_back(shape);
  }
  return cases_at(shapes, run_accumulate);
}

KernelBench bench_add(device::Stream& stream, int64_t bytes) { return bench_broadcast(stream, bytes, add); }
KernelBench bench_sub(device::Stream& stream, int64_t bytes) { return bench_broadcast(stream, bytes, sub); }
KernelBench bench_add_backward(device::Stream& stream, int64_t bytes) {
  return bench_backward(stream, bytes, add_backward);
}
KernelBench bench_sub_backward(device::Stream& stream, int64_t bytes) {
  return bench_backward(stream, bytes, sub_backward);
}

KernelBench bench_gradient_accumulate(device::Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const AddInto args{repeated_test_values(stream, count, 1), repeated_test_values(stream, count, 2), count};
  return {fmt::format("count {}", count), {1.0 * count, 12.0 * count}, [&stream, args] {
            gradient_accumulate(stream, args);
          }};
}

}  // namespace athanor::kernels
