// The doors of conv1d: checks of shapes, choice of device, and their entries in the table of kernels.
#include "kernels/conv1d/conv1d.h"

#include "kernels/bench_values.h"
#include "kernels/conv1d/conv1d_internal.h"
#include "kernels/conv1d/conv1d_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(const Conv1d& args) {
  const double count = static_cast<double>(args.batch * args.channels * args.length);
  return {6 * count, 8 * count};
}

device::KernelCost cost_of(const Conv1dBackward& args) {
  const double count = static_cast<double>(args.batch * args.channels * args.length);
  return {12 * count, (args.d_x ? 12 : 8) * count};
}

constexpr int64_t kBenchLength = 1024;
constexpr int64_t kBenchMostChannels = 1024;

struct BenchShape {
  int64_t count;
  int64_t channels;
  int64_t batch;
};

BenchShape bench_shape(int64_t bytes) {
  const int64_t count = bytes / 4;
  const int64_t channels = std::min(kBenchMostChannels, count / kBenchLength);
  return {count, channels, count / kBenchLength / channels};
}

KernelBench bench_conv1d(Stream& stream, int64_t bytes) {
  const BenchShape shape = bench_shape(bytes);
  const Conv1d args{bench_values(stream, shape.count, 1),
                    bench_values(stream, shape.channels * 3, 2),
                    bench_values(stream, shape.channels, 3),
                    stream.device().allocate(bytes, "bench out"),
                    shape.channels,
                    kBenchLength,
                    shape.batch};
  return {fmt::format("batch {}, channels {}, length {}", args.batch, args.channels, args.length), cost_of(args),
          [&stream, args] { conv1d(stream, args); }};
}

KernelBench bench_conv1d_backward(Stream& stream, int64_t bytes) {
  const BenchShape shape = bench_shape(bytes);
  const Conv1dBackward args{bench_values(stream, shape.count, 1),
                            bench_values(stream, shape.count, 2),
                            bench_values(stream, shape.channels * 3, 3),
                            stream.device().allocate(bytes, "bench d_x"),
                            stream.device().allocate(shape.channels * 12, "bench d_weight"),
                            stream.device().allocate(shape.channels * 4, "bench d_bias"),
                            shape.channels,
                            kBenchLength,
                            shape.batch};
  return {fmt::format("batch {}, channels {}, length {}", args.batch, args.channels, args.length), cost_of(args),
          [&stream, args] { conv1d_backward(stream, args); }};
}

}  // namespace

void conv1d(Stream& stream, const Conv1d& args) {
  const int64_t count = args.batch * args.channels * args.length;
  check_size("conv1d", "x", args.x, count);
  check_size("conv1d", "weight", args.weight, args.channels * 3);
  check_size("conv1d", "bias", args.bias, args.channels);
  check_size("conv1d", "out", args.out, count);
  if (count == 0) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "conv1d", cost, [&](auto& cpu) { conv1d_cpu(cpu, args); },
      [&](auto& webgpu) { conv1d_webgpu(webgpu, args, cost); });
}

void conv1d_backward(Stream& stream, const Conv1dBackward& args) {
  const int64_t count = args.batch * args.channels * args.length;
  check_size("conv1d_backward", "d_out", args.d_out, count);
  check_size("conv1d_backward", "x", args.x, count);
  check_size("conv1d_backward", "weight", args.weight, args.channels * 3);
  if (args.d_x) check_size("conv1d_backward", "d_x", args.d_x, count);
  if (args.d_weight) check_size("conv1d_backward", "d_weight", args.d_weight, args.channels * 3);
  if (args.d_bias) check_size("conv1d_backward", "d_bias", args.d_bias, args.channels);
  if (count == 0 || (!args.d_x && !args.d_weight && !args.d_bias)) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "conv1d_backward", cost, [&](auto& cpu) { conv1d_backward_cpu(cpu, args); },
      [&](auto& webgpu) { conv1d_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> conv1d_kernels() {
  return {
      {"conv1d", "depthwise convolution of width 3 along rows", conv1d_cases(), bench_conv1d},
      {"conv1d_backward", "gradients of conv1d for x, weight and bias", conv1d_backward_cases(), bench_conv1d_backward},
  };
}

}  // namespace athanor::kernels
