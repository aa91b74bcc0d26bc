// The doors of dropout: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/dropout/dropout.h"

#include "base/random.h"
#include "kernels/bench_values.h"
#include "kernels/dropout/dropout_internal.h"
#include "kernels/dropout/dropout_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(const Dropout& args) {
  const double count = static_cast<double>(args.rows * args.columns);
  return {count, 8 * count};
}

void run(Stream& stream, std::string_view kernel, const Dropout& args) {
  const int64_t count = args.rows * args.columns;
  check_size(kernel, "x", args.x, count);
  check_size(kernel, "out", args.out, count);
  check(args.p >= 0 && args.p < 1, "{}: p is {}; pass the share of values to drop, at least 0 and below 1", kernel,
        args.p);
  if (count == 0) return;
  const DropoutMask mask = dropout_mask(kernel, args);
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, kernel, cost, [&](auto& cpu) { dropout_cpu(cpu, args, mask); },
      [&](auto& webgpu) { dropout_webgpu(webgpu, kernel, args, mask, cost); });
}

constexpr int64_t kBenchColumns = 1024;

MakeBench bench_of(void (*launch_one)(Stream&, const Dropout&)) {
  return [launch_one](Stream& stream, int64_t bytes) {
    const int64_t count = bytes / 4;
    const Dropout args{bench_values(stream, count, 1),
                       stream.device().allocate(bytes, "bench out"),
                       count / kBenchColumns,
                       kBenchColumns,
                       0.1F,
                       {1, 2, 3, 0}};
    return KernelBench{fmt::format("rows {}, columns {}", args.rows, args.columns), cost_of(args),
                       [&stream, args, launch_one] { launch_one(stream, args); }};
  };
}

}  // namespace

DropoutMask dropout_mask(std::string_view kernel, const Dropout& args) {
  const DropoutKey& key = args.key;
  to_u32(key.first_row + args.rows, kernel);
  to_u32(args.columns, kernel);
  // As Random makes it; its own first word, of index 0, is word 0 of block 0.
  const std::array<uint32_t, 4> mixed =
      philox4x32({static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32),
                  static_cast<uint32_t>(RandomStream::Dropout), 0},
                 {0, 0});
  DropoutMask mask;
  mask.key = {mixed[0], mixed[1]};
  mask.step = to_u32(key.step, kernel);
  mask.layer = to_u32(key.layer, kernel);
  mask.first_row = to_u32(key.first_row, kernel);
  mask.threshold = static_cast<uint32_t>(static_cast<double>(args.p) * 0x1p32);
  mask.scale = static_cast<float>(1 / (1 - static_cast<double>(args.p)));
  return mask;
}

void dropout(Stream& stream, const Dropout& args) { run(stream, "dropout", args); }

void dropout_backward(Stream& stream, const Dropout& args) { run(stream, "dropout_backward", args); }

std::vector<KernelInfo> dropout_kernels() {
  return {
      {"dropout", "values dropped at random, the others divided by 1 - p", dropout_cases(), bench_of(dropout)},
      {"dropout_backward", "gradient of dropout, under the same mask", dropout_backward_cases(),
       bench_of(dropout_backward)},
  };
}

}  // namespace athanor::kernels
