// sum, gradient_norm_squared and finalize_grad_stats as plain loops in double, and the sizes they are tried at.
#include "kernels/gradient_norm/gradient_norm_reference.h"

#include <cmath>

#include "kernels/gradient_norm/gradient_norm.h"

namespace athanor::kernels {

double sum_reference(const std::vector<double>& values) {
  double total = 0;
  for (double value : values) total += value;
  return total;
}

std::vector<double> gradient_norm_squared_reference(const std::vector<double>& gradients) {
  std::vector<double> partial(static_cast<size_t>(norm_blocks(static_cast<int64_t>(gradients.size()))));
  for (size_t i = 0; i < gradients.size(); ++i) partial[i / kNormBlock] += gradients[i] * gradients[i];
  return partial;
}

std::vector<double> tensor_norms_reference(const std::vector<double>& gradients, const std::vector<Segment>& segments) {
  std::vector<double> sums;
  for (const Segment& segment : segments) {
    double total = 0;
    for (size_t i = segment.begin; i < segment.end; ++i) total += gradients[i] * gradients[i];
    sums.push_back(total);
  }
  return sums;
}

std::vector<double> finalize_grad_stats_reference(const std::vector<double>& partial, double max_norm) {
  const double norm = std::sqrt(sum_reference(partial));
  const double clip = max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
  return {norm, clip, 0, 0};
}

namespace {

struct Size {
  int64_t count;
  bool in_doctor;
};

// Below and above a workgroup and a block of 4096, with and without the four-wide variant, and a small model's gradients.
const std::vector<Size> kSizes = {{1, false},    {3, false},    {5, false},   {63, true},
                                  {65, false},   {257, false},  {260, true},  {4095, false},
                                  {4096, false}, {4097, false}, {8200, true}, {1100000, false}};

// Values of one sign, so that the tolerance, relative to the sum, means something.
std::vector<float> positive_values(int64_t count) {
  std::vector<float> values = test_values(count, 1);
  for (float& value : values) value = std::abs(value);
  return values;
}

CaseResult run_sum(device::Stream& stream, int64_t count, Accumulate accumulate) {
  const std::vector<float> values = positive_values(count);
  const std::vector<float> before = {3.5F};
  const Sum args{upload_values(stream, values),
                 accumulate == Accumulate::Yes ? upload_values(stream, before) : poisoned(stream, 1), count,
                 accumulate};
  sum(stream, args);
  const std::vector<double> want = {sum_reference(to_double(values)) + (accumulate == Accumulate::Yes ? before[0] : 0)};
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), want, allowed_f32(count));
  return result;
}

CaseResult run_norm(device::Stream& stream, int64_t count) {
  const std::vector<float> gradients = test_values(count, 2);
  const GradientNorm args{upload_values(stream, gradients), count, poisoned(stream, norm_blocks(count))};
  gradient_norm_squared(stream, args);
  CaseResult result;
  compare(result, "partial", download_values(stream, args.partial),
          gradient_norm_squared_reference(to_double(gradients)), allowed_f32(std::min(count, kNormBlock)));
  return result;
}

struct Slab {
  int64_t count;
  std::vector<Segment> segments;
  bool in_doctor;
};

// One tensor of every size; several with holes between them; a tensor of a few blocks that begins in the middle of one; many small ones.
std::vector<Slab> slabs() {
  std::vector<Segment> many;
  for (uint32_t i = 0; i < 300; ++i) many.push_back({i * 128, i * 128 + 1 + i * 7 % 128, 0});
  return {{1, {{0, 1, 0}}, false},
          {5, {{0, 5, 0}}, true},
          {257, {{0, 64, 0}, {64, 257, 0}}, false},
          {640, {{64, 101, 0}, {128, 257, 0}, {384, 448, 0}, {512, 575, 0}}, true},
          {300 * 128, many, false},
          {20000 * 64, {{0, 63, 0}, {64, 4096 * 3 + 65, 0}, {4096 * 3 + 128, 20000 * 64, 0}}, false}};
}

// Between the tensors lie zeros, as in a slab. Each tensor is judged by itself: one may be a thousand times the other.
CaseResult run_tensors(device::Stream& stream, const Slab& slab) {
  const std::vector<float> values = test_values(slab.count, 2);
  std::vector<float> gradients(values.size(), 0.0F);
  for (const Segment& segment : slab.segments) {
    std::copy(values.begin() + segment.begin, values.begin() + segment.end, gradients.begin() + segment.begin);
  }
  const NormTable table = upload_norm_table(stream, slab.segments);
  const GradientNorm args{upload_values(stream, gradients), slab.count, poisoned(stream, table.block_count), table,
                          poisoned(stream, table.tensor_count)};
  gradient_norm_squared(stream, args);
  const std::vector<float> got = download_values(stream, args.tensor_sums);
  const std::vector<double> want = tensor_norms_reference(to_double(gradients), slab.segments);
  CaseResult result;
  for (size_t i = 0; i < want.size(); ++i) {
    const int64_t length = slab.segments[i].end - slab.segments[i].begin;
    compare(result, fmt::format("tensor {}", i), std::span(got).subspan(i, 1), std::span(want).subspan(i, 1),
            allowed_f32(length));
  }
  const std::vector<float> total = {
      static_cast<float>(sum_reference(to_double(download_values(stream, args.partial))))};
  compare(result, "all", total, std::vector<double>{sum_reference(want)}, allowed_f32(slab.count));
  return result;
}

// Each of the four by itself: the norm may be a thousand times the clip scale.
CaseResult run_stats(device::Stream& stream, int64_t partials, float max_norm) {
  const std::vector<float> partial = positive_values(partials);
  const GradStats args{upload_values(stream, partial), partials, max_norm, poisoned(stream, 4)};
  finalize_grad_stats(stream, args);
  const std::vector<float> got = download_values(stream, args.stats);
  const std::vector<double> want = finalize_grad_stats_reference(to_double(partial), max_norm);
  CaseResult result;
  const char* names[] = {"norm", "clip scale", "flag", "unused"};
  for (size_t i = 0; i < 4; ++i)
    compare(result, names[i], std::span(got).subspan(i, 1), std::span(want).subspan(i, 1), allowed_f32(partials));
  return result;
}

}  // namespace

std::vector<KernelCase> sum_cases() {
  std::vector<KernelCase> cases;
  for (const Size& size : kSizes) {
    cases.push_back({fmt::format("count {}", size.count), size.in_doctor,
                     [size](device::Stream& stream) { return run_sum(stream, size.count, Accumulate::No); }});
  }
  cases.push_back(
      {"count 343, added", true, [](device::Stream& stream) { return run_sum(stream, 343, Accumulate::Yes); }});
  return cases;
}

std::vector<KernelCase> gradient_norm_squared_cases() {
  std::vector<KernelCase> cases;
  for (const Size& size : kSizes) {
    cases.push_back({fmt::format("count {}", size.count), size.in_doctor,
                     [size](device::Stream& stream) { return run_norm(stream, size.count); }});
  }
  for (const Slab& slab : slabs()) {
    cases.push_back({fmt::format("{} tensors of a slab of {}", slab.segments.size(), slab.count), slab.in_doctor,
                     [slab](device::Stream& stream) { return run_tensors(stream, slab); }});
  }
  return cases;
}

std::vector<KernelCase> finalize_grad_stats_cases() {
  std::vector<KernelCase> cases;
  for (const auto& [partials, max_norm] : std::vector<std::pair<int64_t, float>>{
           {1, 0.0F}, {3, 1.0F}, {5, 1e6F}, {63, 0.5F}, {65, 0.0F}, {257, 1.0F}, {2006, 1.0F}, {34000, 2.0F}}) {
    cases.push_back({fmt::format("partial sums {}, max_norm {}", partials, max_norm), partials <= 63,
                     [partials = partials, max_norm = max_norm](device::Stream& stream) {
                       return run_stats(stream, partials, max_norm);
                     }});
  }
  return cases;
}

}  // namespace athanor::kernels
