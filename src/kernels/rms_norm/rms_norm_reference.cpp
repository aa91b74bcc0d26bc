// rms_norm as plain loops in double, and the sizes it is tried at.
#include "kernels/rms_norm/rms_norm_reference.h"

#include "kernels/rms_norm/rms_norm.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

std::vector<double> rms_norm_reference(const std::vector<double>& x, const std::vector<double>& weight, double eps,
                                       double offset) {
  const size_t columns = weight.size();
  std::vector<double> out(x.size());
  for (size_t start = 0; start < x.size(); start += columns) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += x[start + c] * x[start + c];
    const double inverse = 1 / std::sqrt(sum / static_cast<double>(columns) + eps);
    for (size_t c = 0; c < columns; ++c) out[start + c] = x[start + c] * inverse * (weight[c] + offset);
  }
  return out;
}

RmsNormGradients rms_norm_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x,
                                             const std::vector<double>& weight, double eps, double offset) {
  const size_t columns = weight.size();
  RmsNormGradients gradients{std::vector<double>(x.size()), std::vector<double>(columns)};
  for (size_t start = 0; start < x.size(); start += columns) {
    double squares = 0;
    double dot = 0;
    for (size_t c = 0; c < columns; ++c) {
      squares += x[start + c] * x[start + c];
      dot += d_out[start + c] * (weight[c] + offset) * x[start + c];
    }
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(columns) + eps);
    const double correction = dot / static_cast<double>(columns) * inverse * inverse * inverse;
    for (size_t c = 0; c < columns; ++c) {
      gradients.d_x[start + c] = inverse * d_out[start + c] * (weight[c] + offset) - x[start + c] * correction;
      gradients.d_weight[c] += d_out[start + c] * x[start + c] * inverse;
    }
  }
  return gradients;
}

namespace {

struct Sizes {
  int64_t rows;
  int64_t columns;
  bool in_doctor;
};

// Lengths not divisible by four and their like, rows side by side in a workgroup, rows longer than the registers of one (more than 1024
// values one by one, 4096 four at a time), several blocks of rows and several steps of one, and a real model's.
const std::vector<Sizes> kSizes = {{1, 1, false},    {3, 5, true},      {5, 63, false},     {63, 65, true},
                                   {65, 257, false}, {5, 64, true},     {65, 260, true},    {257, 343, false},
                                   {19, 1027, true}, {19, 4100, false}, {1024, 768, false}, {2006, 128, false},
                                   {66000, 5, false}};

CaseResult run_forward(device::Stream& stream, const Sizes& sizes, float offset) {
  const std::vector<float> x = test_values(sizes.rows * sizes.columns, 1, 3.0F);
  const std::vector<float> weight = test_values(sizes.columns, 2);
  RmsNorm args{upload_values(stream, x),
               upload_values(stream, weight),
               poisoned(stream, sizes.rows * sizes.columns),
               sizes.rows,
               sizes.columns,
               1e-5F,
               offset};
  rms_norm(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out),
          rms_norm_reference(to_double(x), to_double(weight), 1e-5F, offset), allowed_f32(sizes.columns));
  return result;
}

/// Largest |n * g| of rows of one value: what d_x is a difference of.
double largest_term(const std::vector<float>& x, const std::vector<float>& weight, const std::vector<float>& d_out,
                    double offset) {
  double largest = 0;
  for (size_t row = 0; row < x.size(); ++row) {
    const double inverse = 1 / std::sqrt(static_cast<double>(x[row]) * x[row] + 1e-5);
    largest = std::max(largest, std::abs(inverse * d_out[row] * (weight[0] + offset)));
  }
  return largest;
}

CaseResult run_backward(device::Stream& stream, const Sizes& sizes, float offset, bool accumulate) {
  const std::vector<float> d_out = test_values(sizes.rows * sizes.columns, 3);
  const std::vector<float> x = test_values(sizes.rows * sizes.columns, 1, 3.0F);
  const std::vector<float> weight = test_values(sizes.columns, 2);
  const std::vector<float> before = test_values(sizes.columns, 4);
  RmsNormBackward args{upload_values(stream, d_out),
                       upload_values(stream, x),
                       upload_values(stream, weight),
                       poisoned(stream, sizes.rows * sizes.columns),
                       accumulate ? upload_values(stream, before) : poisoned(stream, sizes.columns),
                       sizes.rows,
                       sizes.columns,
                       1e-5F,
                       offset,
                       accumulate};
  rms_norm_backward(stream, args);
  RmsNormGradients want = rms_norm_backward_reference(to_double(d_out), to_double(x), to_double(weight), 1e-5F, offset);
  for (size_t c = 0; accumulate && c < before.size(); ++c) want.d_weight[c] += before[c];
  CaseResult result;
  // With one column d_x is the difference of two equal terms but for eps.
  compare(result, "d_x", download_values(stream, args.d_x), want.d_x, allowed_f32(sizes.columns),
          sizes.columns == 1 ? largest_term(x, weight, d_out, offset) : 0);
  compare(result, "d_weight", download_values(stream, args.d_weight), want.d_weight,
          allowed_f32(sizes.columns + sizes.rows));
  return result;
}

}  // namespace

std::vector<KernelCase> rms_norm_cases() {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back({fmt::format("rows {}, columns {}", sizes.rows, sizes.columns), sizes.in_doctor,
                     [sizes](device::Stream& stream) { return run_forward(stream, sizes, 0); }});
  }
  cases.push_back(
      {"weight offset 1", true, [](device::Stream& stream) { return run_forward(stream, {5, 63, true}, 1); }});
  return cases;
}

std::vector<KernelCase> rms_norm_backward_cases() {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back({fmt::format("rows {}, columns {}", sizes.rows, sizes.columns), sizes.in_doctor,
                     [sizes](device::Stream& stream) { return run_backward(stream, sizes, 0, false); }});
  }
  cases.push_back({"added to d_weight, weight offset 1", true,
                   [](device::Stream& stream) { return run_backward(stream, {65, 63, true}, 1, true); }});
  return cases;
}

}  // namespace athanor::kernels
