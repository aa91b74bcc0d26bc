// softmax as plain loops in double, and the sizes it is tried at.
#include "kernels/softmax/softmax_reference.h"

#include "base/random.h"
#include "kernels/softmax/softmax.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

std::vector<double> softmax_reference(const std::vector<double>& x, int64_t columns) {
  std::vector<double> out(x.size());
  for (auto row = x.begin(); row != x.end(); row += columns) {
    const double largest = *std::max_element(row, row + columns);
    const auto out_row = out.begin() + (row - x.begin());
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) {
      out_row[c] = row[c] <= kMaskedValue / 2 ? 0 : std::exp(row[c] - largest);
      sum += out_row[c];
    }
    for (int64_t c = 0; c < columns; ++c) out_row[c] = sum == 0 ? 0 : out_row[c] / sum;
  }
  return out;
}

std::vector<double> softmax_backward_reference(const std::vector<double>& d_out, const std::vector<double>& out,
                                               int64_t columns) {
  const auto length = static_cast<size_t>(columns);
  std::vector<double> d_x(out.size());
  for (size_t start = 0; start < out.size(); start += length) {
    double dot = 0;
    for (size_t c = start; c < start + length; ++c) dot += d_out[c] * out[c];
    for (size_t c = start; c < start + length; ++c) d_x[c] = out[c] * (d_out[c] - dot);
  }
  return d_x;
}

namespace {

struct Sizes {
  int64_t rows;
  int64_t columns;
  float scale;    // of the values
  double masked;  // share of masked ones
  bool in_doctor;
};

// Odd lengths, rows side by side, rows longer than a workgroup's registers, values of 1e4, masks up to whole rows, an attention matrix, and
// many rows.
const std::vector<Sizes> kSizes = {{1, 1, 3, 0, false},      {3, 5, 3, 0.5, true},       {5, 63, 3, 0, false},
                                   {63, 65, 3, 0.3, true},   {5, 64, 1e4F, 0.3, true},   {65, 257, 1e4F, 0, true},
                                   {65, 260, 3, 1, true},    {257, 343, 3, 0.99, false}, {7, 1027, 1e4F, 0.3, false},
                                   {3, 4100, 3, 0.3, false}, {2, 5121, 3, 1, false},     {2048, 1024, 3, 0.5, false},
                                   {66000, 3, 3, 0.3, false}};

std::vector<float> make_x(const Sizes& sizes) {
  std::vector<float> x = test_values(sizes.rows * sizes.columns, 1, sizes.scale);
  Random random(2, RandomStream::Test);
  for (float& value : x) value = random.uniform() < sizes.masked ? kMaskedValue : value;
  return x;
}

CaseResult run_forward(device::Stream& stream, const Sizes& sizes) {
  const std::vector<float> x = make_x(sizes);
  const Softmax args{upload_values(stream, x), poisoned(stream, sizes.rows * sizes.columns), sizes.rows, sizes.columns};
  softmax(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), softmax_reference(to_double(x), sizes.columns),
          allowed_f32(sizes.columns));
  return result;
}

CaseResult run_backward(device::Stream& stream, const Sizes& sizes) {
  const std::vector<double> exact = softmax_reference(to_double(make_x(sizes)), sizes.columns);
  const std::vector<float> out(exact.begin(), exact.end());
  const std::vector<float> d_out = test_values(static_cast<int64_t>(out.size()), 3);
  const SoftmaxBackward args{upload_values(stream, d_out), upload_values(stream, out),
                             poisoned(stream, sizes.rows * sizes.columns), sizes.rows, sizes.columns};
  softmax_backward(stream, args);
  double largest_term = 0;  // d_x is a difference of two such products
  for (size_t i = 0; i < out.size(); ++i) {
    largest_term = std::max(largest_term, std::abs(static_cast<double>(out[i]) * d_out[i]));
  }
  CaseResult result;
  compare(result, "d_x", download_values(stream, args.d_x),
          softmax_backward_reference(to_double(d_out), to_double(out), sizes.columns), allowed_f32(sizes.columns),
          largest_term);
  return result;
}

std::vector<KernelCase> cases_of(CaseResult (*run)(device::Stream&, const Sizes&)) {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back({fmt::format("rows {}, columns {}, values of {}, {} masked", sizes.rows, sizes.columns, sizes.scale,
                                 sizes.masked),
                     sizes.in_doctor, [run, sizes](device::Stream& stream) { return run(stream, sizes); }});
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> softmax_cases() { return cases_of(run_forward); }
std::vector<KernelCase> softmax_backward_cases() { return cases_of(run_backward); }

}  // namespace athanor::kernels
