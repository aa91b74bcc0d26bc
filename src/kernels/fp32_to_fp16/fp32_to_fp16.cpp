// The doors of fp32_to_fp16 and fp16_to_fp32: checks of sizes, choice of device, benchmarks, and their entries in the table of kernels.
#include "kernels/fp32_to_fp16/fp32_to_fp16.h"

#include "kernels/bench_values.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16_internal.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(int64_t count) { return {0, 4.0 * count + 4.0 * half_words(count)}; }

KernelBench bench_to_half(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const Fp32ToFp16 args{bench_values(stream, count, 1), bench_zeros(stream, half_words(count)), count};
  return {fmt::format("count {}", count), cost_of(count), [&stream, args] { fp32_to_fp16(stream, args); }};
}

KernelBench bench_to_float(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const Fp16ToFp32 args{bench_values(stream, half_words(count), 1), bench_zeros(stream, count), count};
  return {fmt::format("count {}", count), cost_of(count), [&stream, args] { fp16_to_fp32(stream, args); }};
}

}  // namespace

void fp32_to_fp16(Stream& stream, const Fp32ToFp16& args) {
  check_size("fp32_to_fp16", "values", args.values, args.count);
  check_size("fp32_to_fp16", "out", args.out, half_words(args.count));
  if (args.count == 0) return;
  const device::KernelCost cost = cost_of(args.count);
  launch(
      stream, "fp32_to_fp16", cost, [&](auto& cpu) { fp32_to_fp16_cpu(cpu, args); },
      [&](auto& webgpu) { fp32_to_fp16_webgpu(webgpu, args, cost); });
}

void fp16_to_fp32(Stream& stream, const Fp16ToFp32& args) {
  check_size("fp16_to_fp32", "halves", args.halves, half_words(args.count));
  check_size("fp16_to_fp32", "out", args.out, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost = cost_of(args.count);
  launch(
      stream, "fp16_to_fp32", cost, [&](auto& cpu) { fp16_to_fp32_cpu(cpu, args); },
      [&](auto& webgpu) { fp16_to_fp32_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> fp32_to_fp16_kernels() {
  return {
      {"fp32_to_fp16", "each f32 as the nearest f16, two in a u32", fp32_to_fp16_cases(), bench_to_half},
      {"fp16_to_fp32", "each f16 of a u32 as the f32 that equals it", fp16_to_fp32_cases(), bench_to_float},
  };
}

}  // namespace athanor::kernels
