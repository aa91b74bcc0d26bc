// The one place that decides how near a kernel must be to its plain loop. The error is the largest difference over the largest
// magnitude of the reference tensor, as kernels differ from the double loop by f32 rounding of sums.
#pragma once

#include "device/device.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace athanor::kernels {

struct CaseResult {
  double largest_error = 0;  // relative to the largest magnitude of the reference
  double allowed_error = 0;
  std::string where;                                              // which tensor and index was worst
  bool passed() const { return largest_error <= allowed_error; }  // false for NaN
};

/// Allowed error of f32 arithmetic whose longest sum has `reduction_length` terms: 2^-24 * (8 + 2 * sqrt(length)).
/// Each rounding is at most 2^-24 relative and random signs grow with the square root; 8 covers exp, rsqrt and division in WGSL
/// (2 to 3 units each).
double allowed_f32(int64_t reduction_length);

/// Allowed error of products whose factors were rounded to one f16 (2^-12 of each on average, with random signs over the sum: 2.4e-4
/// measured at 4096 terms), or split into two. There 2^-22 of each factor is lost, but matrix units cut off what they add, which at 4096
/// terms was 1.5e-5.
inline constexpr double kAllowedF16Factors = 1e-3;
inline constexpr double kAllowedSplitF16Factors = 2e-5;

/// Compares and keeps the worst of several tensors in `result`. A NaN or infinity on one side only counts as infinite error.
/// largest_term: where a tensor is a difference of larger terms (a gradient that nearly cancels), their largest magnitude; the error is
/// then relative to it, since the terms' own rounding is what f32 allows.
void compare(CaseResult& result, std::string_view tensor, std::span<const float> got, std::span<const double> want,
             double allowed_error, double largest_term = 0);

/// Fixed test values: count numbers from a normal distribution times scale, keyed by (seed).
std::vector<float> test_values(int64_t count, uint32_t seed, float scale = 1.0F);
std::vector<double> to_double(std::span<const float> values);

/// A device buffer with these values / the values of a buffer. For cases and tests.
device::Buffer upload_values(device::Stream& stream, std::span<const float> values);
device::Buffer upload_values(device::Stream& stream, std::span<const uint32_t> values);
std::vector<float> download_values(device::Stream& stream, const device::Buffer& buffer);
/// A buffer filled with NaN bits, so that a value the kernel forgets to write is seen.
device::Buffer poisoned(device::Stream& stream, int64_t count);

}  // namespace athanor::kernels
