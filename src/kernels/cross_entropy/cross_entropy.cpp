// The doors of cross_entropy: checks of sizes and targets, choice of device, and their entries in the table of kernels.
#include "kernels/cross_entropy/cross_entropy.h"

#include <cmath>

#include "kernels/cross_entropy/cross_entropy_internal.h"
#include "kernels/cross_entropy/cross_entropy_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void check_targets(std::span<const int32_t> targets, int64_t vocabulary) {
  for (size_t i = 0; i < targets.size(); ++i) {
    check(targets[i] == kIgnoreTarget || (targets[i] >= 0 && targets[i] < vocabulary),
          "cross_entropy: the target at position {} is {} but the vocabulary has {} entries; pass an id below that, or "
          "{} to leave the position out",
          i, targets[i], vocabulary, kIgnoreTarget);
  }
}

void cross_entropy(Stream& stream, const CrossEntropy& args) {
  const int64_t count = args.rows * args.vocabulary;
  check_size("cross_entropy", "logits", args.logits, count);
  check_size("cross_entropy", "targets", args.targets, args.rows);
  check_size("cross_entropy", "losses", args.losses, args.rows);
  if (count == 0) return;
  const device::KernelCost cost{4.0 * count, 4.0 * count};
  launch(
      stream, "cross_entropy", cost, [&](auto& cpu) { cross_entropy_cpu(cpu, args); },
      [&](auto& webgpu) { cross_entropy_webgpu(webgpu, args, cost); });
}

void cross_entropy_backward(Stream& stream, const CrossEntropyBackward& args) {
  const int64_t count = args.rows * args.vocabulary;
  check_size("cross_entropy_backward", "logits", args.logits, count);
  check_size("cross_entropy_backward", "targets", args.targets, args.rows);
  check_size("cross_entropy_backward", "d_logits", args.d_logits, count);
  check(std::isfinite(args.scale), "cross_entropy_backward: a scale of {}; pass 1 / the number of targets", args.scale);
  if (count == 0) return;
  const device::KernelCost cost{7.0 * count, 12.0 * count};
  launch(
      stream, "cross_entropy_backward", cost, [&](auto& cpu) { cross_entropy_backward_cpu(cpu, args); },
      [&](auto& webgpu) { cross_entropy_backward_webgpu(webgpu, args, cost); });
}

void cross_entropy_in_place(Stream& stream, const CrossEntropyFused& args) {
  const int64_t count = args.rows * args.vocabulary;
  check_size("cross_entropy_in_place", "logits_to_gradient", args.logits_to_gradient, count);
  check_size("cross_entropy_in_place", "targets", args.targets, args.rows);
  check_size("cross_entropy_in_place", "losses", args.losses, args.rows);
  check(std::isfinite(args.scale), "cross_entropy_in_place: a scale of {}; pass 1 / the number of targets", args.scale);
  if (count == 0) return;
  const device::KernelCost cost{7.0 * count, 12.0 * count};
  launch(
      stream, "cross_entropy_in_place", cost, [&](auto& cpu) { cross_entropy_in_place_cpu(cpu, args); },
      [&](auto& webgpu) { cross_entropy_in_place_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> cross_entropy_kernels() {
  return {
      {"cross_entropy", "-log softmax(logits)[target] of each row", cross_entropy_cases()},
      {"cross_entropy_backward", "(softmax(logits) - onehot(target)) * scale", cross_entropy_backward_cases()},
      {"cross_entropy_in_place", "loss of each row, and the gradient over its logits", cross_entropy_in_place_cases()},
  };
}

}  // namespace athanor::kernels
