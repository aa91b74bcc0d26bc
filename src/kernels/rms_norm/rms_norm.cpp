// The doors of rms_norm: checks of shapes, choice of device, and their entries in the table of kernels.
#include "kernels/rms_norm/rms_norm.h"

#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/rms_norm/rms_norm_internal.h"
#include "kernels/rms_norm/rms_norm_reference.h"

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(const RmsNorm& args) {
  const double count = static_cast<double>(args.rows * args.columns);
  return {4 * count, 8 * count};
}

device::KernelCost cost_of(const RmsNormBackward& args) {
  const double count = static_cast<double>(args.rows * args.columns);
  return {10 * count, (args.d_x ? 12 : 8) * count};
}

constexpr int64_t kBenchColumns = 1024;

KernelBench bench_rms_norm(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const RmsNorm args{bench_values(stream, count, 1), bench_values(stream, kBenchColumns, 2),
                     stream.device().allocate(bytes, "bench out"), count / kBenchColumns, kBenchColumns};
  return {fmt::format("rows {}, columns {}", args.rows, args.columns), cost_of(args),
          [&stream, args] { rms_norm(stream, args); }};
}

KernelBench bench_rms_norm_backward(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const RmsNormBackward args{bench_values(stream, count, 1),
                             bench_values(stream, count, 2),
                             bench_values(stream, kBenchColumns, 3),
                             stream.device().allocate(bytes, "bench d_x"),
                             stream.device().allocate(kBenchColumns * 4, "bench d_weight"),
                             count / kBenchColumns,
                             kBenchColumns};
  return {fmt::format("rows {}, columns {}", args.rows, args.columns), cost_of(args),
          [&stream, args] { rms_norm_backward(stream, args); }};
}

}  // namespace

void rms_norm(Stream& stream, const RmsNorm& args) {
  const int64_t count = args.rows * args.columns;
  check_size("rms_norm", "x", args.x, count);
  check_size("rms_norm", "weight", args.weight, args.columns);
  check_size("rms_norm", "out", args.out, count);
  if (count == 0) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "rms_norm", cost, [&](auto& cpu) { rms_norm_cpu(cpu, args); },
      [&](auto& webgpu) { rms_norm_webgpu(webgpu, args, cost); });
}

void rms_norm_backward(Stream& stream, const RmsNormBackward& args) {
  const int64_t count = args.rows * args.columns;
  check_size("rms_norm_backward", "d_out", args.d_out, count);
  check_size("rms_norm_backward", "x", args.x, count);
  check_size("rms_norm_backward", "weight", args.weight, args.columns);
  if (args.d_x) check_size("rms_norm_backward", "d_x", args.d_x, count);
  if (args.d_weight) check_size("rms_norm_backward", "d_weight", args.d_weight, args.columns);
  if (args.columns == 0 || (!args.d_x && !args.d_weight)) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "rms_norm_backward", cost, [&](auto& cpu) { rms_norm_backward_cpu(cpu, args); },
      [&](auto& webgpu) { rms_norm_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> rms_norm_kernels() {
  return {
      {"rms_norm", "x * weight / sqrt(mean(x^2) + eps) of each row", rms_norm_cases(), bench_rms_norm},
      {"rms_norm_backward", "gradients of rms_norm for x and weight", rms_norm_backward_cases(),
       bench_rms_norm_backward},
  };
}

}  // namespace athanor::kernels
