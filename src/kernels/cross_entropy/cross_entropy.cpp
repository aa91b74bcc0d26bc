// The doors of cross_entropy: checks of sizes, terms and targets, choice of device, and their entries in the table of kernels.
#include "kernels/cross_entropy/cross_entropy.h"

#include <cmath>

#include "kernels/attention/soft_cap.h"
#include "kernels/cross_entropy/cross_entropy_internal.h"
#include "kernels/cross_entropy/cross_entropy_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

namespace {

void check_terms(std::string_view kernel, const CrossEntropyTerms& terms) {
  check(terms.label_smoothing >= 0 && terms.label_smoothing <= 1, "{}: a label smoothing of {}; pass one from 0 to 1",
        kernel, terms.label_smoothing);
  check(terms.z_loss >= 0 && std::isfinite(terms.z_loss), "{}: a z-loss of {}; pass a positive factor, or 0 for none",
        kernel, terms.z_loss);
  check_soft_cap(kernel, terms.soft_cap);
}

void check_scale(std::string_view kernel, float scale) {
  check(std::isfinite(scale), "{}: a scale of {}; pass 1 / the number of targets", kernel, scale);
}

void check_totals(std::string_view kernel, const Buffer& totals) {
  if (totals) check_size(kernel, "totals", totals, 1, sizeof(CrossEntropyTotals));
}

// Without a row nothing is launched, but the totals are what they should be.
void clear_totals(Stream& stream, const Buffer& totals, Accumulate accumulate) {
  if (totals && accumulate == Accumulate::No) stream.fill_zero(totals);
}

}  // namespace

void check_targets(std::span<const int32_t> targets, int64_t vocabulary) {
  for (size_t i = 0; i < targets.size(); ++i) {
    check(targets[i] == kIgnoreTarget || (targets[i] >= 0 && targets[i] < vocabulary),
          "cross_entropy: the target at position {} is {} but the vocabulary has {} entries; pass an id below that, or "
          "{} to leave the position out",
          i, targets[i], vocabulary, kIgnoreTarget);
  }
}

device::KernelCost cross_entropy_cost(int64_t rows, int64_t vocabulary) {
  const double count = static_cast<double>(rows * vocabulary);
  return {4 * count, 4 * count};
}

device::KernelCost cross_entropy_gradient_cost(int64_t rows, int64_t vocabulary) {
  const double count = static_cast<double>(rows * vocabulary);
  return {7 * count, 8 * count};
}

void cross_entropy(Stream& stream, const CrossEntropy& args) {
  constexpr std::string_view kKernel = "cross_entropy";
  check_size(kKernel, "logits", args.logits, args.rows * args.vocabulary);
  check_size(kKernel, "targets", args.targets, args.rows);
  check_size(kKernel, "losses", args.losses, args.rows);
  check_totals(kKernel, args.totals);
  check_terms(kKernel, args.terms);
  if (args.rows * args.vocabulary == 0) return clear_totals(stream, args.totals, args.accumulate_totals);
  const device::KernelCost cost = cross_entropy_cost(args.rows, args.vocabulary);
  launch(
      stream, kKernel, cost, [&](auto& cpu) { cross_entropy_cpu(cpu, args); },
      [&](auto& webgpu) { cross_entropy_webgpu(webgpu, args, cost); });
}

void cross_entropy_backward(Stream& stream, const CrossEntropyBackward& args) {
  constexpr std::string_view kKernel = "cross_entropy_backward";
  check_size(kKernel, "logits", args.logits, args.rows * args.vocabulary);
  check_size(kKernel, "targets", args.targets, args.rows);
  check_size(kKernel, "d_logits", args.d_logits, args.rows * args.vocabulary);
  check_scale(kKernel, args.scale);
  check_terms(kKernel, args.terms);
  if (args.rows * args.vocabulary == 0) return;
  const device::KernelCost cost = cross_entropy_gradient_cost(args.rows, args.vocabulary);
  launch(
      stream, kKernel, cost, [&](auto& cpu) { cross_entropy_backward_cpu(cpu, args); },
      [&](auto& webgpu) { cross_entropy_backward_webgpu(webgpu, args, cost); });
}

void cross_entropy_in_place(Stream& stream, const CrossEntropyFused& args) {
  constexpr std::string_view kKernel = "cross_entropy_in_place";
  check_size(kKernel, "logits_to_gradient", args.logits_to_gradient, args.rows * args.vocabulary);
  check_size(kKernel, "targets", args.targets, args.rows);
  check_size(kKernel, "losses", args.losses, args.rows);
  check_totals(kKernel, args.totals);
  check_scale(kKernel, args.scale);
  check_terms(kKernel, args.terms);
  if (args.rows * args.vocabulary == 0) return clear_totals(stream, args.totals, args.accumulate_totals);
  const device::KernelCost cost = cross_entropy_gradient_cost(args.rows, args.vocabulary);
  launch(
      stream, kKernel, cost, [&](auto& cpu) { cross_entropy_in_place_cpu(cpu, args); },
      [&](auto& webgpu) { cross_entropy_in_place_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> cross_entropy_kernels() {
  return {
      {"cross_entropy", "-log softmax(logits)[target] of each row", cross_entropy_cases(), cross_entropy_bench},
      {"cross_entropy_backward", "(softmax(logits) - onehot(target)) * scale", cross_entropy_backward_cases(),
       cross_entropy_backward_bench},
      {"cross_entropy_in_place", "loss of each row, and the gradient over its logits", cross_entropy_in_place_cases(),
       cross_entropy_in_place_bench},
  };
}

}  // namespace athanor::kernels
