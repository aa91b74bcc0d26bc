// ema_update as a plain loop in double, and the sizes it is tried at.
#include "kernels/ema_update/ema_update_reference.h"

#include "kernels/ema_update/ema_update.h"

namespace athanor::kernels {

void ema_update_reference(std::vector<double>& ema, const std::vector<double>& weights, double decay) {
  for (size_t i = 0; i < ema.size(); ++i) ema[i] = decay * ema[i] + (1 - decay) * weights[i];
}

namespace {

struct Size {
  int64_t count;
  bool in_doctor;
};

// Below and above a workgroup of 256 threads, with and without the four-wide variant, and a small model's.
const std::vector<Size> kSizes = {{1, false},  {3, false},   {4, true},    {5, false},    {63, true},
                                  {65, false}, {257, false}, {4100, true}, {2006, false}, {1024 * 768, false}};

enum class Stats { None, Finite };

// Three steps, each with other weights.
CaseResult run_case(device::Stream& stream, int64_t count, double decay, Stats stats) {
  const std::vector<float> start = test_values(count, 1);
  EmaUpdate args;
  args.ema = upload_values(stream, start);
  if (stats == Stats::Finite) args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  args.count = count;
  args.decay = static_cast<float>(decay);
  args.one_minus_decay = static_cast<float>(1 - decay);
  std::vector<double> want = to_double(start);
  for (uint32_t step = 0; step < 3; ++step) {
    const std::vector<float> weights = test_values(count, 10 + step);
    args.weights = upload_values(stream, weights);
    ema_update(stream, args);
    ema_update_reference(want, to_double(weights), decay);
  }
  CaseResult result;
  compare(result, "ema", download_values(stream, args.ema), want, allowed_f32(3));
  return result;
}

}  // namespace

std::vector<KernelCase> ema_update_cases() {
  std::vector<KernelCase> cases;
  for (const Size& size : kSizes) {
    cases.push_back({fmt::format("three steps, count {}", size.count), size.in_doctor,
                     [size](device::Stream& stream) { return run_case(stream, size.count, 0.75, Stats::None); }});
  }
  cases.push_back({"three steps, decay 0.9999", true,
                   [](device::Stream& stream) { return run_case(stream, 65, 0.9999, Stats::None); }});
  cases.push_back({"three steps, with the statistics of finite gradients", true,
                   [](device::Stream& stream) { return run_case(stream, 260, 0.75, Stats::Finite); }});
  return cases;
}

}  // namespace athanor::kernels
