// top_k as a stable sort of each row, and the rows it is tried at.
#include "kernels/top_k/top_k_reference.h"

#include "kernels/top_k/top_k.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace athanor::kernels {

std::vector<uint32_t> top_k_reference(const std::vector<double>& x, int64_t columns, int64_t k) {
  std::vector<uint32_t> indices;
  std::vector<uint32_t> order(static_cast<size_t>(columns));
  for (size_t start = 0; start < x.size(); start += static_cast<size_t>(columns)) {
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return x[start + a] > x[start + b]; });
    indices.insert(indices.end(), order.begin(), order.begin() + k);
  }
  return indices;
}

namespace {

enum class Values { Normal, Ties, FarBelow, Equal };

std::vector<float> make_values(int64_t count, Values kind) {
  std::vector<float> values = test_values(count, 1, 3.0F);
  for (size_t i = 0; i < values.size(); ++i) {
    float& value = values[i];
    if (kind == Values::Ties) value = std::round(value) * 0.5F;  // a few values, and zeros of both signs
    if (kind == Values::FarBelow) value = -2e9F - 1e30F * std::abs(value);
    if (kind == Values::Equal) value = -7;
  }
  return values;
}

struct Sizes {
  int64_t rows;
  int64_t columns;
  int64_t k;
  Values values;
  bool in_doctor;
};

// Rows of whole vectors and others, below and above the block of 512 that is sorted in workgroup memory and its multiples, k = V, two
// real vocabularies and the largest, values that share all their upper digits.
const std::vector<Sizes> kSizes = {
    {1, 1, 1, Values::Normal, false},         {3, 5, 5, Values::Normal, false},
    {5, 63, 7, Values::Ties, false},          {65, 65, 64, Values::FarBelow, false},
    {19, 257, 9, Values::Normal, true},       {3, 343, 343, Values::Ties, true},
    {5, 64, 20, Values::Ties, true},          {2, 256, 3, Values::Equal, true},
    {2, 2006, 2006, Values::Normal, false},   {3, 2006, 50, Values::FarBelow, false},
    {1, 4096, 1500, Values::Ties, false},     {1, 4099, 513, Values::Equal, false},
    {2, 128256, 40, Values::Normal, false},   {1, 128256, 1100, Values::Ties, false},
    {1, 128256, 64, Values::FarBelow, false}, {1, 262144, 2, Values::Equal, false},
};

CaseResult run_top_k(device::Stream& stream, const Sizes& sizes) {
  const std::vector<float> x = make_values(sizes.rows * sizes.columns, sizes.values);
  const TopK args{upload_values(stream, x),
                  poisoned(stream, sizes.rows * sizes.k),
                  poisoned(stream, sizes.rows * sizes.k),
                  sizes.rows,
                  sizes.columns,
                  sizes.k};
  top_k(stream, args);
  std::vector<uint32_t> indices(static_cast<size_t>(sizes.rows * sizes.k));
  stream.download(args.indices, std::as_writable_bytes(std::span(indices)));
  const std::vector<uint32_t> want = top_k_reference(to_double(x), sizes.columns, sizes.k);
  std::vector<double> want_values(want.size());
  for (size_t i = 0; i < want.size(); ++i) want_values[i] = x[i / sizes.k * sizes.columns + want[i]];
  CaseResult result;
  // Nothing is computed, so any difference is a fault: an index that differs by one is over the allowed error even beside 262,143.
  compare(result, "indices", std::vector<float>(indices.begin(), indices.end()),
          std::vector<double>(want.begin(), want.end()), allowed_f32(1));
  compare(result, "values", download_values(stream, args.values), want_values, allowed_f32(1));
  return result;
}

const char* name_of(Values values) {
  switch (values) {
    case Values::Normal:
      return "";
    case Values::Ties:
      return ", with ties";
    case Values::FarBelow:
      return ", all below -1e9";
    case Values::Equal:
      break;
  }
  return ", all equal";
}

}  // namespace

std::vector<KernelCase> top_k_cases() {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back(
        {fmt::format("rows {}, columns {}, k {}{}", sizes.rows, sizes.columns, sizes.k, name_of(sizes.values)),
         sizes.in_doctor, [sizes](device::Stream& stream) { return run_top_k(stream, sizes); }});
  }
  return cases;
}

}  // namespace athanor::kernels
