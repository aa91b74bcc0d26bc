// The doors of softmax: checks of shapes, choice of device, and their entries in the table of kernels.
#include "kernels/softmax/softmax.h"

#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/softmax/softmax_internal.h"
#include "kernels/softmax/softmax_reference.h"

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(const Softmax& args) {
  const double count = static_cast<double>(args.rows * args.columns);
  return {5 * count, 8 * count};
}

device::KernelCost cost_of(const SoftmaxBackward& args) {
  const double count = static_cast<double>(args.rows * args.columns);
  return {4 * count, 12 * count};
}

constexpr int64_t kBenchColumns = 1024;

KernelBench bench_softmax(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const Softmax args{bench_values(stream, count, 1), stream.device().allocate(bytes, "bench out"),
                     count / kBenchColumns, kBenchColumns};
  return {fmt::format("rows {}, columns {}", args.rows, args.columns), cost_of(args),
          [&stream, args] { softmax(stream, args); }};
}

KernelBench bench_softmax_backward(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const SoftmaxBackward args{bench_values(stream, count, 1), bench_values(stream, count, 2, 1e-3F),
                             stream.device().allocate(bytes, "bench d_x"), count / kBenchColumns, kBenchColumns};
  return {fmt::format("rows {}, columns {}", args.rows, args.columns), cost_of(args),
          [&stream, args] { softmax_backward(stream, args); }};
}

}  // namespace

void softmax(Stream& stream, const Softmax& args) {
  const int64_t count = args.rows * args.columns;
  check_size("softmax", "x", args.x, count);
  check_size("softmax", "out", args.out, count);
  if (count == 0) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "softmax", cost, [&](auto& cpu) { softmax_cpu(cpu, args); },
      [&](auto& webgpu) { softmax_webgpu(webgpu, args, cost); });
}

void softmax_backward(Stream& stream, const SoftmaxBackward& args) {
  const int64_t count = args.rows * args.columns;
  check_size("softmax_backward", "d_out", args.d_out, count);
  check_size("softmax_backward", "out", args.out, count);
  check_size("softmax_backward", "d_x", args.d_x, count);
  if (count == 0) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "softmax_backward", cost, [&](auto& cpu) { softmax_backward_cpu(cpu, args); },
      [&](auto& webgpu) { softmax_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> softmax_kernels() {
  return {
      {"softmax", "e^x over its sum in each row; a fully masked row gives zeros", softmax_cases(), bench_softmax},
      {"softmax_backward", "gradient of softmax", softmax_backward_cases(), bench_softmax_backward},
  };
}

}  // namespace athanor::kernels
