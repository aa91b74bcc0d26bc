// The door of ema_update: checks, choice of device, its benchmark, and its entry in the table of kernels.
#include "kernels/ema_update/ema_update.h"

#include "kernels/bench_values.h"
#include "kernels/ema_update/ema_update_internal.h"
#include "kernels/ema_update/ema_update_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(int64_t count) { return {3.0 * count, 12.0 * count}; }

KernelBench bench_ema(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const EmaUpdate args{bench_values(stream, count, 1), bench_values(stream, count, 2), {}, count};
  return {fmt::format("count {}", count), cost_of(count), [&stream, args] { ema_update(stream, args); }};
}

}  // namespace

void ema_update(Stream& stream, const EmaUpdate& args) {
  check(args.decay >= 0 && args.decay <= 1, "ema_update: decay is {}; pass a number in [0, 1]", args.decay);
  check(args.one_minus_decay >= 0 && args.one_minus_decay <= 1,
        "ema_update: one_minus_decay is {}; pass 1 - decay, taken in double", args.one_minus_decay);
  check_size("ema_update", "ema", args.ema, args.count);
  check_size("ema_update", "weights", args.weights, args.count);
  if (args.stats) check_size("ema_update", "stats", args.stats, 4);
  if (args.count == 0) return;
  const device::KernelCost cost = cost_of(args.count);
  launch(
      stream, "ema_update", cost, [&](auto& cpu) { ema_update_cpu(cpu, args); },
      [&](auto& webgpu) { ema_update_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> ema_update_kernels() {
  return {{"ema_update", "running mean of weights", ema_update_cases(), bench_ema}};
}

}  // namespace athanor::kernels
