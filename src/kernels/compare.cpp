// Comparison of a kernel's output with its plain loop.
#include "kernels/compare.h"

#include "base/random.h"

#include <cmath>
#include <limits>

namespace athanor::kernels {

double allowed_f32(int64_t reduction_length) {
  return std::ldexp(8.0 + 2.0 * std::sqrt(static_cast<double>(reduction_length)), -24);
}

namespace {

/// Of what is allowed; nothing may be (values that must be exact).
double share_used(double error, double allowed) {
  if (error == 0) return 0;
  return allowed == 0 ? std::numeric_limits<double>::infinity() : error / allowed;
}

}  // namespace

void compare(CaseResult& result, std::string_view tensor, std::span<const float> got, std::span<const double> want,
             double allowed_error, double largest_term) {
  check(got.size() == want.size(), "compare: {} has {} values but the plain loop gave {}", tensor, got.size(),
        want.size());
  double scale = std::max(largest_term, std::numeric_limits<double>::min());
  for (double value : want) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    double error = std::abs(static_cast<double>(got[i]) - want[i]) / scale;
    if (std::isfinite(got[i]) != std::isfinite(want[i])) error = std::numeric_limits<double>::infinity();
    if (!std::isfinite(got[i]) && !std::isfinite(want[i])) {
      const bool same = std::isnan(want[i]) ? std::isnan(got[i]) : static_cast<double>(got[i]) == want[i];
      error = same ? 0 : std::numeric_limits<double>::infinity();
    }
    // The worst is the one that uses up most of what it is allowed.
    const bool worst = result.where.empty() ||
                       share_used(error, allowed_error) > share_used(result.largest_error, result.allowed_error);
    if (worst) {
      result.largest_error = error;
      result.allowed_error = allowed_error;
      result.where = fmt::format("{}[{}]: {} instead of {}", tensor, i, got[i], want[i]);
    }
  }
}

std::vector<float> test_values(int64_t count, uint32_t seed, float scale) {
  Random random(seed, RandomStream::Test);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = scale * static_cast<float>(random.normal());
  return values;
}

std::vector<double> to_double(std::span<const float> values) { return {values.begin(), values.end()}; }

device::Buffer upload_values(device::Stream& stream, std::span<const float> values) {
  device::Buffer buffer = stream.device().allocate(static_cast<int64_t>(values.size_bytes()), "test values");
  stream.upload(buffer, std::as_bytes(values));
  return buffer;
}

device::Buffer upload_values(device::Stream& stream, std::span<const uint32_t> values) {
  device::Buffer buffer = stream.device().allocate(static_cast<int64_t>(values.size_bytes()), "test values");
  stream.upload(buffer, std::as_bytes(values));
  return buffer;
}

std::vector<float> download_values(device::Stream& stream, const device::Buffer& buffer) {
  std::vector<float> values(static_cast<size_t>(buffer.size_bytes() / 4));
  stream.download(buffer, std::as_writable_bytes(std::span(values)));
  return values;
}

device::Buffer poisoned(device::Stream& stream, int64_t count) {
  const std::vector<float> nan(static_cast<size_t>(count), std::numeric_limits<float>::quiet_NaN());
  return upload_values(stream, nan);
}

}  // namespace athanor::kernels
