// The door of sample: checks of options and shapes, choice of device, and its entry in the table of kernels.
#include "kernels/sample/sample.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/sample/sample_internal.h"
#include "kernels/sample/sample_reference.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

void check_options(const Sample& args) {
  check(std::isfinite(args.temperature) && args.temperature >= 0,
        "sample: temperature is {}; pass 0 (greedy) or a number above it", args.temperature);
  check(args.top_k >= 0, "sample: top-k is {}; pass 0 (all) or how many tokens to keep", args.top_k);
  check(args.top_p > 0 && args.top_p <= 1, "sample: top-p is {}; pass a number above 0 up to 1 (all)", args.top_p);
  check(args.min_p >= 0 && args.min_p <= 1, "sample: min-p is {}; pass a number from 0 (all) to 1", args.min_p);
  check(std::isfinite(args.repeat_penalty) && args.repeat_penalty > 0,
        "sample: repeat-penalty is {}; pass 1 (off) or a number above it", args.repeat_penalty);
}

/// The logits are read once.
device::KernelCost sample_cost(const Sample& args) {
  const auto count = static_cast<double>(args.rows * args.vocabulary);
  return {2 * count, 4 * count};
}

}  // namespace

void sample(Stream& stream, const Sample& args) {
  check_options(args);
  check(args.vocabulary > 0 && args.vocabulary <= kMostSampleTokens,
        "sample: rows of {} logits were given; they must have 1 to {}", args.vocabulary, kMostSampleTokens);
  if (args.rows == 0) return;
  check_size("sample", "logits", args.logits, args.rows * args.vocabulary);
  if (has_penalty(args)) check_size("sample", "previous", args.previous, args.rows * args.previous_length);
  check_size("sample", "tokens", args.tokens, args.rows);
  const device::KernelCost cost = sample_cost(args);
  launch(
      stream, "sample", cost, [&](auto& cpu) { sample_cpu(cpu, args); },
      [&](auto& webgpu) { sample_webgpu(webgpu, args, cost); });
}

namespace {

/// Logits of a large vocabulary under the default options.
KernelBench bench_sample(Stream& stream, int64_t bytes) {
  Sample args;
  args.vocabulary = 128256;
  args.rows = std::max<int64_t>(1, bytes / 4 / args.vocabulary);
  const std::vector<float> row = test_values(args.vocabulary, 1, 3.0F);
  std::vector<float> logits;
  for (int64_t i = 0; i < args.rows; ++i) logits.insert(logits.end(), row.begin(), row.end());
  args.logits = upload_values(stream, logits);
  args.tokens = stream.device().allocate(args.rows * 4, "bench tokens");
  return {fmt::format("rows {}, vocabulary {}, top-k 40, top-p 0.95, min-p 0.05", args.rows, args.vocabulary),
          sample_cost(args), [&stream, args] { sample(stream, args); }};
}

}  // namespace

std::vector<KernelInfo> sample_kernels() {
  return {
      {"sample", "repeat penalty, top-k, top-p, min-p, temperature and a seeded draw", sample_cases(), bench_sample}};
}

}  // namespace athanor::kernels
