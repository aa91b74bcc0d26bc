// rms_norm_residual as a plain loop in double, and the sizes it is tried at.
#include "kernels/rms_norm_residual/rms_norm_residual_reference.h"

#include "kernels/rms_norm/rms_norm_reference.h"
#include "kernels/rms_norm_residual/rms_norm_residual.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

NormResidualValues rms_norm_residual_reference(const std::vector<double>& x, const std::vector<double>& residual,
                                               const std::vector<double>& weight, double eps, double offset) {
  NormResidualValues values{x, {}};
  for (size_t i = 0; i < x.size(); ++i) values.y[i] += residual[i];
  values.out = rms_norm_reference(values.y, weight, eps, offset);
  return values;
}

namespace {

struct Sizes {
  int64_t rows;
  int64_t columns;
  bool in_doctor;
};

// As rms_norm's: odd lengths, rows side by side, rows longer than a workgroup's registers, a real model's, and many rows.
const std::vector<Sizes> kSizes = {{1, 1, false},    {3, 5, true},     {5, 63, false},     {63, 65, true},
                                   {5, 64, true},    {65, 257, false}, {65, 260, true},    {257, 343, false},
                                   {7, 1027, false}, {3, 4100, false}, {1024, 768, false}, {2006, 128, false},
                                   {66000, 4, false}};

constexpr float kEps = 1e-5F;

CaseResult run_forward(device::Stream& stream, const Sizes& sizes, float offset) {
  const int64_t count = sizes.rows * sizes.columns;
  const std::vector<float> x = test_values(count, 1, 3.0F);
  const std::vector<float> residual = test_values(count, 2);
  const std::vector<float> weight = test_values(sizes.columns, 3);
  const RmsNormResidual args{upload_values(stream, x),
                             upload_values(stream, residual),
                             upload_values(stream, weight),
                             poisoned(stream, count),
                             poisoned(stream, count),
                             sizes.rows,
                             sizes.columns,
                             kEps,
                             offset};
  rms_norm_residual(stream, args);
  const NormResidualValues want =
      rms_norm_residual_reference(to_double(x), to_double(residual), to_double(weight), kEps, offset);
  CaseResult result;
  compare(result, "y", download_values(stream, args.y), want.y, allowed_f32(1));
  compare(result, "out", download_values(stream, args.out), want.out, allowed_f32(sizes.columns));
  return result;
}

/// Largest |n * g| of rows of one value: what d_x is a difference of.
double largest_term(const std::vector<float>& y, const std::vector<float>& weight, const std::vector<float>& d_out,
                    double offset) {
  double largest = 0;
  for (size_t row = 0; row < y.size(); ++row) {
    const double inverse = 1 / std::sqrt(static_cast<double>(y[row]) * y[row] + kEps);
    largest = std::max(largest, std::abs(inverse * d_out[row] * (weight[0] + offset)));
  }
  return largest;
}

struct Form {
  float offset = 0;
  bool has_d_y = true;
  bool accumulates = false;
};

CaseResult run_backward(device::Stream& stream, const Sizes& sizes, const Form& form) {
  const int64_t count = sizes.rows * sizes.columns;
  const std::vector<float> d_out = test_values(count, 1);
  const std::vector<float> d_y = test_values(count, 2);
  const std::vector<float> y = test_values(count, 3, 3.0F);
  const std::vector<float> weight = test_values(sizes.columns, 4);
  const std::vector<float> before = test_values(sizes.columns, 5);
  const RmsNormResidualBackward args{upload_values(stream, d_out),
                                     form.has_d_y ? upload_values(stream, d_y) : device::Buffer(),
                                     upload_values(stream, y),
                                     upload_values(stream, weight),
                                     poisoned(stream, count),
                                     form.accumulates ? upload_values(stream, before) : poisoned(stream, sizes.columns),
                                     sizes.rows,
                                     sizes.columns,
                                     kEps,
                                     form.offset,
                                     form.accumulates};
  rms_norm_residual_backward(stream, args);
  RmsNormGradients want =
      rms_norm_backward_reference(to_double(d_out), to_double(y), to_double(weight), kEps, form.offset);
  for (size_t i = 0; form.has_d_y && i < d_y.size(); ++i) want.d_x[i] += d_y[i];
  for (size_t c = 0; form.accumulates && c < before.size(); ++c) want.d_weight[c] += before[c];
  CaseResult result;
  // With one column the norm's part is the difference of two equal terms but for eps.
  compare(result, "d_x", download_values(stream, args.d_x), want.d_x, allowed_f32(sizes.columns),
          sizes.columns == 1 ? largest_term(y, weight, d_out, form.offset) : 0);
  compare(result, "d_weight", download_values(stream, args.d_weight), want.d_weight,
          allowed_f32(sizes.columns + sizes.rows));
  return result;
}

std::string name_of(const Sizes& sizes) { return fmt::format("rows {}, columns {}", sizes.rows, sizes.columns); }

}  // namespace

std::vector<KernelCase> rms_norm_residual_cases() {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back(
        {name_of(sizes), sizes.in_doctor, [sizes](device::Stream& stream) { return run_forward(stream, sizes, 0); }});
  }
  cases.push_back(
      {"weight offset 1", true, [](device::Stream& stream) { return run_forward(stream, {5, 63, true}, 1); }});
  return cases;
}

std::vector<KernelCase> rms_norm_residual_backward_cases() {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back(
        {name_of(sizes), sizes.in_doctor, [sizes](device::Stream& stream) { return run_backward(stream, sizes, {}); }});
  }
  cases.push_back({"no gradient along the stream", true,
                   [](device::Stream& stream) { return run_backward(stream, {19, 64, true}, {0, false, false}); }});
  cases.push_back({"added to d_weight, weight offset 1", true,
                   [](device::Stream& stream) { return run_backward(stream, {65, 63, true}, {1, true, true}); }});
  return cases;
}

}  // namespace athanor::kernels
