// The doors of dequantize and affine_dequantize: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/dequantize/dequantize.h"

#include "kernels/dequantize/dequantize_internal.h"
#include "kernels/dequantize/dequantize_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void dequantize(Stream& stream, const Dequantize& args) {
  if (args.count == 0) return;
  check_size("dequantize", "q", args.q, ceil_div(args.count, 4));
  check_size("dequantize", "out", args.out, args.count);
  const auto count = static_cast<double>(args.count);
  const device::KernelCost cost{count, 5 * count};
  launch(
      stream, "dequantize", cost, [&](auto& cpu) { dequantize_cpu(cpu, args); },
      [&](auto& webgpu) { dequantize_webgpu(webgpu, args, cost); });
}

void affine_dequantize(Stream& stream, const AffineDequantize& args) {
  const char* name = "affine_dequantize";
  const int64_t count = args.rows * args.columns;
  if (count == 0) return;
  check_affine_operands(name, args.layout, args.q, args.scales, args.biases, args.rows, args.columns);
  check_size(name, "out", args.out, count);
  const auto bytes = static_cast<double>(args.q.size_bytes() + 2 * args.scales.size_bytes() + 4 * count);
  const device::KernelCost cost{2.0 * static_cast<double>(count), bytes};
  launch(
      stream, name, cost, [&](auto& cpu) { affine_dequantize_cpu(cpu, args); },
      [&](auto& webgpu) { affine_dequantize_webgpu(webgpu, args, cost); });
}

namespace {

KernelBench bench_dequantize(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const Dequantize args{stream.device().allocate(count, "bench q"), stream.device().allocate(count * 4, "bench out"),
                        count};
  stream.fill_zero(args.q);
  return {fmt::format("count {}", count),
          device::KernelCost{1.0 * static_cast<double>(count), 5.0 * static_cast<double>(count)},
          [&stream, args] { dequantize(stream, args); }};
}

KernelBench bench_affine_dequantize(Stream& stream, int64_t bytes) {
  AffineDequantize args;
  args.columns = 1024;
  args.rows = bytes / 4 / args.columns;
  const int64_t count = args.rows * args.columns;
  const int64_t scale_bytes = affine_scale_bytes(args.layout, count / args.layout.group);
  args.q = stream.device().allocate(count * args.layout.bits / 8, "bench q");
  args.scales = stream.device().allocate(scale_bytes, "bench scales");
  args.biases = stream.device().allocate(scale_bytes, "bench biases");
  args.out = stream.device().allocate(count * 4, "bench out");
  for (const Buffer& buffer : {args.q, args.scales, args.biases}) stream.fill_zero(buffer);
  const auto moved = static_cast<double>(args.q.size_bytes() + 2 * scale_bytes + 4 * count);
  return {fmt::format("rows {}, columns {}, 4 bits, groups of 64, f16 scales", args.rows, args.columns),
          device::KernelCost{2.0 * static_cast<double>(count), moved},
          [&stream, args] { affine_dequantize(stream, args); }};
}

}  // namespace

std::vector<KernelInfo> dequantize_kernels() {
  return {
      {"dequantize", "bytes of q as f32", dequantize_cases(), bench_dequantize},
      {"affine_dequantize", "q * scale + bias by groups along the row", affine_dequantize_cases(),
       bench_affine_dequantize},
  };
}

}  // namespace athanor::kernels
