// The doors of adamw_update and adamw_update_f16: checks, choice of device, benchmarks, and their entries in the table of kernels.
#include "kernels/adamw_update/adamw_update.h"

#include "kernels/adamw_update/adamw_update_internal.h"
#include "kernels/adamw_update/adamw_update_reference.h"
#include "kernels/bench_values.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

#include <cmath>

namespace athanor::kernels {

namespace {

void check_slabs(const char* kernel, const AdamwUpdate& args) {
  check_size(kernel, "weights", args.weights, args.count);
  check_size(kernel, "gradients", args.gradients, args.count);
  check_size(kernel, "m", args.m, args.count);
  check_size(kernel, "v", args.v, args.count);
  check_size(kernel, "stats", args.stats, 4);
  check_segments(kernel, args.segments, args.count);
  check_adamw_step(kernel, args);
}

device::KernelCost cost_of(int64_t count) { return {15.0 * count, 28.0 * count}; }
device::KernelCost cost_with_mirror(int64_t count) { return {15.0 * count, 30.0 * count}; }

/// Operands of `count` elements in one tensor, and a step so small that the weights stay what they are.
AdamwUpdate bench_args(Stream& stream, int64_t count) {
  AdamwUpdate args;
  args.weights = bench_values(stream, count, 1);
  args.gradients = bench_values(stream, count, 2);
  args.m = bench_zeros(stream, count);
  args.v = bench_zeros(stream, count);
  args.segments = upload_segments(stream, std::vector<Segment>{{0, to_u32(count, "adamw_update"), 0.1F}});
  args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  args.count = count;
  args.lr = 1e-6F;
  return args;
}

KernelBench bench_plain(Stream& stream, int64_t bytes) {
  const AdamwUpdate args = bench_args(stream, bytes / 4);
  return {fmt::format("count {}", args.count), cost_of(args.count), [&stream, args] { adamw_update(stream, args); }};
}

KernelBench bench_f16(Stream& stream, int64_t bytes) {
  const AdamwUpdateF16 args{bench_args(stream, bytes / 4), bench_zeros(stream, half_words(bytes / 4))};
  return {fmt::format("count {}", args.count), cost_with_mirror(args.count),
          [&stream, args] { adamw_update_f16(stream, args); }};
}

}  // namespace

void check_adamw_step(std::string_view kernel, const AdamwStep& step) {
  const auto check_number = [kernel](const char* name, float value, bool in_range) {
    check(std::isfinite(value) && in_range, "{}: {} is {}, which is out of range", kernel, name, value);
  };
  check_number("lr", step.lr, true);
  check_number("beta1", step.beta1, step.beta1 >= 0 && step.beta1 < 1);
  check_number("beta2", step.beta2, step.beta2 >= 0 && step.beta2 < 1);
  check_number("one_minus_beta1", step.one_minus_beta1, step.one_minus_beta1 > 0);
  check_number("one_minus_beta2", step.one_minus_beta2, step.one_minus_beta2 > 0);
  check_number("eps", step.eps, step.eps > 0);
  check_number("bias_correction1", step.bias_correction1, step.bias_correction1 > 0);
  check_number("bias_correction2", step.bias_correction2, step.bias_correction2 > 0);
}

void adamw_update(Stream& stream, const AdamwUpdate& args) {
  check_slabs("adamw_update", args);
  const device::KernelCost cost = cost_of(args.count);
  launch(
      stream, "adamw_update", cost, [&](auto& cpu) { adamw_update_cpu(cpu, args); },
      [&](auto& webgpu) { adamw_update_webgpu(webgpu, args, cost); });
}

void adamw_update_f16(Stream& stream, const AdamwUpdateF16& args) {
  check_slabs("adamw_update_f16", args);
  check_size("adamw_update_f16", "mirror", args.mirror, half_words(args.count));
  const device::KernelCost cost = cost_with_mirror(args.count);
  launch(
      stream, "adamw_update_f16", cost, [&](auto& cpu) { adamw_update_f16_cpu(cpu, args); },
      [&](auto& webgpu) { adamw_update_f16_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> adamw_update_kernels() {
  return {
      {"adamw_update", "AdamW with decoupled weight decay over a slab of tensors", adamw_update_cases(), bench_plain},
      {"adamw_update_f16", "adamw_update that writes the f16 mirror of the weights too", adamw_update_f16_cases(),
       bench_f16},
  };
}

}  // namespace athanor::kernels
