// rope as a plain loop in double, and the sizes it is tried at.
#include "kernels/rope/rope_reference.h"

#include "kernels/rope/rope.h"

#include <cmath>

namespace athanor::kernels {

std::vector<double> rope_reference(const std::vector<double>& x, const RopeSizes& sizes, double sign) {
  const int64_t half = sizes.head_dim / 2;
  std::vector<double> out(x.size());
  for (int64_t row = 0; row < sizes.rows; ++row) {
    const int64_t position = sizes.first_position + row % sizes.length;
    for (int64_t h = 0; h < sizes.heads; ++h) {
      const size_t start = static_cast<size_t>((row * sizes.heads + h) * sizes.head_dim);
      for (int64_t i = 0; i < half; ++i) {
        const float exponent = static_cast<float>(2 * i) / static_cast<float>(sizes.head_dim);
        const float inverse_frequency = 1.0F / static_cast<float>(std::pow(sizes.theta, static_cast<double>(exponent)));
        const double angle = sign * static_cast<double>(position) * static_cast<double>(inverse_frequency);
        const double first = x[start + i];
        const double second = x[start + half + i];
        out[start + i] = first * std::cos(angle) - second * std::sin(angle);
        out[start + half + i] = second * std::cos(angle) + first * std::sin(angle);
      }
    }
  }
  return out;
}

namespace {

struct Case {
  RopeSizes sizes;
  bool in_doctor;
};

// Odd rows, heads and halves, and halves of whole vec4; a sequence that repeats; rows up to position 131,071 of a long context; a real model's
// query heads.
const std::vector<Case> kCases = {
    {{1, 1, 2, 1, 0}, false},       {{3, 5, 6, 3, 0}, true},
    {{65, 3, 64, 65, 0}, true},     {{63, 1, 128, 21, 7}, false},
    {{257, 2, 10, 257, 0}, false},  {{5, 3, 4, 5, 131067}, true},
    {{5, 3, 8, 5, 131067}, false},  {{2, 2, 64, 2, 131070, 5e5}, false},
    {{1024, 4, 64, 256, 0}, false},
};

CaseResult run_case(device::Stream& stream, const RopeSizes& sizes, double sign) {
  const std::vector<float> x = test_values(sizes.rows * sizes.heads * sizes.head_dim, 1);
  const int64_t positions = sizes.first_position + std::min(sizes.length, sizes.rows);
  const Rope args{upload_values(stream, x),
                  upload_values(stream, rope_table(positions, sizes.head_dim, sizes.theta)),
                  poisoned(stream, static_cast<int64_t>(x.size())),
                  sizes.rows,
                  sizes.heads,
                  sizes.head_dim,
                  sizes.length,
                  sizes.first_position};
  if (sign > 0) {
    rope(stream, args);
  } else {
    rope_backward(stream, args);
  }
  CaseResult result;
  compare(result, sign > 0 ? "out" : "d_x", download_values(stream, args.out),
          rope_reference(to_double(x), sizes, sign), allowed_f32(2));
  return result;
}

std::vector<KernelCase> cases(double sign) {
  std::vector<KernelCase> list;
  for (const Case& one : kCases) {
    const RopeSizes& sizes = one.sizes;
    list.push_back({fmt::format("rows {}, heads {}, head width {}, length {}, from position {}", sizes.rows,
                                sizes.heads, sizes.head_dim, sizes.length, sizes.first_position),
                    one.in_doctor, [sizes, sign](device::Stream& stream) { return run_case(stream, sizes, sign); }});
  }
  return list;
}

}  // namespace

std::vector<KernelCase> rope_cases() { return cases(1); }
std::vector<KernelCase> rope_backward_cases() { return cases(-1); }

}  // namespace athanor::kernels
