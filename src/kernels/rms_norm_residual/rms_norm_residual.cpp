// The doors of rms_norm_residual: checks of shapes, choice of device, and their entries in the table of kernels. The computation is
// rms_norm's.
#include "kernels/rms_norm_residual/rms_norm_residual.h"

#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/rms_norm_residual/rms_norm_residual_internal.h"
#include "kernels/rms_norm_residual/rms_norm_residual_reference.h"

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(const RmsNormResidual& args) {
  const double count = static_cast<double>(args.rows * args.columns);
  return {5 * count, 16 * count};
}

device::KernelCost cost_of(const RmsNormResidualBackward& args) {
  const double count = static_cast<double>(args.rows * args.columns);
  return {11 * count, (8.0 + (args.d_y ? 4 : 0) + (args.d_x ? 4 : 0)) * count};
}

constexpr int64_t kBenchColumns = 1024;

KernelBench bench_rms_norm_residual(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const RmsNormResidual args{bench_values(stream, count, 1),
                             bench_values(stream, count, 2),
                             bench_values(stream, kBenchColumns, 3),
                             stream.device().allocate(bytes, "bench y"),
                             stream.device().allocate(bytes, "bench out"),
                             count / kBenchColumns,
                             kBenchColumns};
  return {fmt::format("rows {}, columns {}", args.rows, args.columns), cost_of(args),
          [&stream, args] { rms_norm_residual(stream, args); }};
}

KernelBench bench_rms_norm_residual_backward(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const RmsNormResidualBackward args{bench_values(stream, count, 1),
                                     bench_values(stream, count, 2),
                                     bench_values(stream, count, 3),
                                     bench_values(stream, kBenchColumns, 4),
                                     stream.device().allocate(bytes, "bench d_x"),
                                     stream.device().allocate(kBenchColumns * 4, "bench d_weight"),
                                     count / kBenchColumns,
                                     kBenchColumns};
  return {fmt::format("rows {}, columns {}", args.rows, args.columns), cost_of(args),
          [&stream, args] { rms_norm_residual_backward(stream, args); }};
}

}  // namespace

void rms_norm_residual(Stream& stream, const RmsNormResidual& args) {
  const char* kernel = "rms_norm_residual";
  const int64_t count = args.rows * args.columns;
  check_size(kernel, "x", args.x, count);
  check_size(kernel, "residual", args.residual, count);
  check_size(kernel, "weight", args.weight, args.columns);
  check_size(kernel, "y", args.y, count);
  check_size(kernel, "out", args.out, count);
  if (count == 0) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, kernel, cost, [&](auto& cpu) { rms_norm_residual_cpu(cpu, args); },
      [&](auto& webgpu) { rms_norm_residual_webgpu(webgpu, args, cost); });
}

void rms_norm_residual_backward(Stream& stream, const RmsNormResidualBackward& args) {
  const char* kernel = "rms_norm_residual_backward";
  const int64_t count = args.rows * args.columns;
  check_size(kernel, "d_out", args.d_out, count);
  if (args.d_y) check_size(kernel, "d_y", args.d_y, count);
  check_size(kernel, "y", args.y, count);
  check_size(kernel, "weight", args.weight, args.columns);
  if (args.d_x) check_size(kernel, "d_x", args.d_x, count);
  if (args.d_weight) check_size(kernel, "d_weight", args.d_weight, args.columns);
  if (args.columns == 0 || (!args.d_x && !args.d_weight)) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, kernel, cost, [&](auto& cpu) { rms_norm_residual_backward_cpu(cpu, args); },
      [&](auto& webgpu) { rms_norm_residual_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> rms_norm_residual_kernels() {
  return {
      {"rms_norm_residual", "y = x + residual, and rms_norm of y", rms_norm_residual_cases(), bench_rms_norm_residual},
      {"rms_norm_residual_backward", "gradients of rms_norm_residual for x (and residual) and weight",
       rms_norm_residual_backward_cases(), bench_rms_norm_residual_backward},
  };
}

}  // namespace athanor::kernels
