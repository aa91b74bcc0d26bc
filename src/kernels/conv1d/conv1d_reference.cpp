// conv1d as plain loops in double, and the sizes it is tried at.
#include "kernels/conv1d/conv1d_reference.h"

#include "kernels/conv1d/conv1d.h"

namespace athanor::kernels {

namespace {

/// Calls f(index of out, index of x, index of weight) for each product that the convolution adds.
template <typename Function>
void for_each_product(const Conv1dSizes& sizes, Function f) {
  for (int64_t row = 0; row < sizes.batch * sizes.channels; ++row) {
    for (int64_t s = 0; s < sizes.length; ++s) {
      for (int64_t k = 0; k < 3; ++k) {
        const int64_t from = s + k - 1;
        if (from < 0 || from >= sizes.length) continue;
        f(static_cast<size_t>(row * sizes.length + s), static_cast<size_t>(row * sizes.length + from),
          static_cast<size_t>(row % sizes.channels * 3 + k));
      }
    }
  }
}

size_t channel_of(size_t index, const Conv1dSizes& sizes) {
  return index / static_cast<size_t>(sizes.length) % static_cast<size_t>(sizes.channels);
}

}  // namespace

std::vector<double> conv1d_reference(const std::vector<double>& x, const std::vector<double>& weight,
                                     const std::vector<double>& bias, const Conv1dSizes& sizes) {
  std::vector<double> out(x.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = bias[channel_of(i, sizes)];
  for_each_product(sizes, [&](size_t to, size_t from, size_t w) { out[to] += x[from] * weight[w]; });
  return out;
}

Conv1dGradients conv1d_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x,
                                          const std::vector<double>& weight, const Conv1dSizes& sizes) {
  const auto channels = static_cast<size_t>(sizes.channels);
  Conv1dGradients gradients{std::vector<double>(x.size()), std::vector<double>(3 * channels),
                            std::vector<double>(channels)};
  for (size_t i = 0; i < d_out.size(); ++i) gradients.d_bias[channel_of(i, sizes)] += d_out[i];
  for_each_product(sizes, [&](size_t to, size_t from, size_t w) {
    gradients.d_x[from] += d_out[to] * weight[w];
    gradients.d_weight[w] += d_out[to] * x[from];
  });
  return gradients;
}

namespace {

struct Case {
  Conv1dSizes sizes;
  bool in_doctor;
};

// Lengths of one and two values, odd ones and their like, batches, rows of several segments (more than 1024 values one by one, 4096 four at
// a time), more channels than threads, and a real model's.
const std::vector<Case> kCases = {
    {{1, 1, 1}, true},     {{2, 3, 2}, false},    {{1, 5, 3}, false},    {{3, 3, 5}, true},    {{2, 5, 4}, true},
    {{1, 63, 65}, true},   {{2, 65, 64}, true},   {{1, 257, 63}, false}, {{3, 7, 257}, false}, {{1, 3, 2006}, false},
    {{1, 2, 4100}, false}, {{5, 3, 8200}, false}, {{65, 2, 343}, false}, {{300, 4, 8}, false}, {{2, 192, 1024}, false},
};

CaseResult run_forward(device::Stream& stream, const Conv1dSizes& sizes) {
  const int64_t count = sizes.batch * sizes.channels * sizes.length;
  const std::vector<float> x = test_values(count, 1);
  const std::vector<float> weight = test_values(sizes.channels * 3, 2);
  const std::vector<float> bias = test_values(sizes.channels, 3);
  const Conv1d args{upload_values(stream, x),
                    upload_values(stream, weight),
                    upload_values(stream, bias),
                    poisoned(stream, count),
                    sizes.channels,
                    sizes.length,
                    sizes.batch};
  conv1d(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out),
          conv1d_reference(to_double(x), to_double(weight), to_double(bias), sizes), allowed_f32(3));
  return result;
}

CaseResult run_backward(device::Stream& stream, const Conv1dSizes& sizes, Accumulate accumulate) {
  const int64_t count = sizes.batch * sizes.channels * sizes.length;
  const std::vector<float> d_out = test_values(count, 1);
  const std::vector<float> x = test_values(count, 2);
  const std::vector<float> weight = test_values(sizes.channels * 3, 3);
  const std::vector<float> before_weight = test_values(sizes.channels * 3, 4);
  const std::vector<float> before_bias = test_values(sizes.channels, 5);
  const bool adds = accumulate == Accumulate::Yes;
  const Conv1dBackward args{upload_values(stream, d_out),
                            upload_values(stream, x),
                            upload_values(stream, weight),
                            poisoned(stream, count),
                            adds ? upload_values(stream, before_weight) : poisoned(stream, sizes.channels * 3),
                            adds ? upload_values(stream, before_bias) : poisoned(stream, sizes.channels),
                            sizes.channels,
                            sizes.length,
                            sizes.batch,
                            accumulate};
  conv1d_backward(stream, args);
  Conv1dGradients want = conv1d_backward_reference(to_double(d_out), to_double(x), to_double(weight), sizes);
  for (size_t i = 0; adds && i < before_weight.size(); ++i) want.d_weight[i] += before_weight[i];
  for (size_t i = 0; adds && i < before_bias.size(); ++i) want.d_bias[i] += before_bias[i];
  const double allowed = allowed_f32(sizes.batch * sizes.length);
  CaseResult result;
  compare(result, "d_x", download_values(stream, args.d_x), want.d_x, allowed_f32(3));
  compare(result, "d_weight", download_values(stream, args.d_weight), want.d_weight, allowed);
  compare(result, "d_bias", download_values(stream, args.d_bias), want.d_bias, allowed);
  return result;
}

std::string name_of(const Conv1dSizes& sizes) {
  return fmt::format("batch {}, channels {}, length {}", sizes.batch, sizes.channels, sizes.length);
}

}  // namespace

std::vector<KernelCase> conv1d_cases() {
  std::vector<KernelCase> cases;
  for (const Case& one : kCases) {
    const Conv1dSizes& sizes = one.sizes;
    cases.push_back(
        {name_of(sizes), one.in_doctor, [sizes](device::Stream& stream) { return run_forward(stream, sizes); }});
  }
  return cases;
}

std::vector<KernelCase> conv1d_backward_cases() {
  std::vector<KernelCase> cases;
  for (const Case& one : kCases) {
    const Conv1dSizes& sizes = one.sizes;
    cases.push_back({name_of(sizes), one.in_doctor,
                     [sizes](device::Stream& stream) { return run_backward(stream, sizes, Accumulate::No); }});
  }
  cases.push_back({"added to d_weight and d_bias", true,
                   [](device::Stream& stream) { return run_backward(stream, {3, 5, 60}, Accumulate::Yes); }});
  return cases;
}

}  // namespace athanor::kernels
