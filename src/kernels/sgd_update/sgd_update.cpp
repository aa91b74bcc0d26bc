// The door of sgd_update: checks, choice of device, its benchmark, and its entry in the table of kernels.
#include "kernels/sgd_update/sgd_update.h"

#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/sgd_update/sgd_update_internal.h"
#include "kernels/sgd_update/sgd_update_reference.h"

#include <cmath>

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(const SgdUpdate& args) {
  return args.momentum > 0 ? device::KernelCost{8.0 * args.count, 20.0 * args.count}
                           : device::KernelCost{4.0 * args.count, 12.0 * args.count};
}

KernelBench bench_sgd(Stream& stream, int64_t bytes) {
  SgdUpdate args;
  args.count = bytes / 4;
  args.weights = bench_values(stream, args.count, 1);
  args.gradients = bench_values(stream, args.count, 2);
  args.m = bench_zeros(stream, args.count);
  args.segments = upload_segments(stream, std::vector<Segment>{{0, to_u32(args.count, "sgd_update"), 0.1F}});
  args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  args.lr = 1e-6F;
  args.momentum = 0.9F;
  args.nesterov = Nesterov::Yes;
  return {fmt::format("count {}, momentum", args.count), cost_of(args), [&stream, args] { sgd_update(stream, args); }};
}

}  // namespace

void sgd_update(Stream& stream, const SgdUpdate& args) {
  check(std::isfinite(args.lr), "sgd_update: lr is {}; pass a finite number", args.lr);
  check(args.momentum >= 0 && args.momentum < 1, "sgd_update: momentum is {}; pass a number in [0, 1)", args.momentum);
  check(args.momentum > 0 || args.nesterov == Nesterov::No,
        "sgd_update: Nesterov's form needs a momentum above 0; pass one, or Nesterov::No");
  check_size("sgd_update", "weights", args.weights, args.count);
  check_size("sgd_update", "gradients", args.gradients, args.count);
  if (args.momentum > 0) check_size("sgd_update", "m", args.m, args.count);
  check_size("sgd_update", "stats", args.stats, 4);
  check_segments("sgd_update", args.segments, args.count);
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "sgd_update", cost, [&](auto& cpu) { sgd_update_cpu(cpu, args); },
      [&](auto& webgpu) { sgd_update_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> sgd_update_kernels() {
  return {{"sgd_update", "SGD, with or without momentum, over a slab of tensors", sgd_update_cases(), bench_sgd}};
}

}  // namespace athanor::kernels
