// max_magnitude as a plain loop in double, and the values it is tried with.
#include "kernels/max_magnitude/max_magnitude_reference.h"

#include "kernels/max_magnitude/max_magnitude.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace athanor::kernels {

std::vector<double> max_magnitude_reference(const std::vector<double>& values) {
  constexpr double kLeastNormal = 0x1p-126;
  double largest = 0;
  bool finite = true;
  for (const double value : values) {
    finite = finite && std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  if (!finite || largest < kLeastNormal) return {1, 1};
  const int power = std::min(14 - std::ilogb(largest), 126);
  return {std::ldexp(1.0, power), std::ldexp(1.0, -power)};
}

namespace {

CaseResult run_case(device::Stream& stream, const std::vector<float>& values) {
  const MaxMagnitude args{upload_values(stream, values), poisoned(stream, 2), static_cast<int64_t>(values.size())};
  max_magnitude(stream, args);
  const std::vector<float> got = download_values(stream, args.scale);
  const std::vector<double> want = max_magnitude_reference(to_double(values));
  // Each by itself, as one is often far smaller than the other. Nothing but the very power of two is within this.
  CaseResult result;
  compare(result, "scale", std::span(got).subspan(0, 1), std::span(want).subspan(0, 1), allowed_f32(1));
  compare(result, "inverse", std::span(got).subspan(1, 1), std::span(want).subspan(1, 1), allowed_f32(1));
  return result;
}

KernelCase case_of(int64_t count, float scale, bool in_doctor) {
  return {fmt::format("{} values of about {:g}", count, scale), in_doctor, [=](device::Stream& stream) {
            std::vector<float> values = test_values(count, static_cast<uint32_t>(count), scale);
            values.back() = -64 * scale;  // the largest is the last, and negative
            return run_case(stream, values);
          }};
}

/// Among ones, at a place that is neither first nor last.
KernelCase case_with(const char* name, float value) {
  return {name, true, [=](device::Stream& stream) {
            std::vector<float> values(300, 1.0F);
            values[100] = value;
            return run_case(stream, values);
          }};
}

}  // namespace

std::vector<KernelCase> max_magnitude_cases() {
  std::vector<KernelCase> cases;
  for (const int64_t count : {1, 3, 5, 63, 65, 257, 343 * 2006, 1025 * 1024}) {
    cases.push_back(case_of(count, 1, count < 300));
  }
  for (const float scale : {1e-30F, 1e-8F, 1e5F, 1e30F}) cases.push_back(case_of(20000, scale, true));
  cases.push_back(case_with("an infinity", std::numeric_limits<float>::infinity()));
  cases.push_back(case_with("a NaN", -std::numeric_limits<float>::quiet_NaN()));
  for (const float value : {0.0F, 1e-40F, 2e-38F, 3.4e38F, 65504.0F}) {
    cases.push_back({fmt::format("all {:g}", value), true,
                     [=](device::Stream& stream) { return run_case(stream, std::vector<float>(64, value)); }});
  }
  return cases;
}

}  // namespace athanor::kernels
