// dropout as a plain loop, and the sizes it is tried at.
#include "kernels/dropout/dropout_reference.h"

#include "base/random.h"

#include <array>

namespace athanor::kernels {

uint32_t dropout_number(const DropoutKey& key, int64_t row, int64_t element) {
  const std::array<uint32_t, 4> mixed =
      philox4x32({static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32),
                  static_cast<uint32_t>(RandomStream::Dropout), 0},
                 {0, 0});
  const int64_t quad = element / 4;
  const auto block = static_cast<uint32_t>(quad / 128 * 64 + quad % 64);
  const int shift = quad / 64 % 2 == 0 ? 0 : 16;
  const auto half = [&](uint32_t counter) {
    const std::array<uint32_t, 4> words =
        philox4x32({counter, static_cast<uint32_t>(key.first_row + row), static_cast<uint32_t>(key.step),
                    static_cast<uint32_t>(key.layer)},
                   {mixed[0], mixed[1]});
    return words[static_cast<size_t>(element % 4)] >> shift & 0xffffU;
  };
  return half(block) << 16 | half(block + 0x80000000U);
}

std::vector<double> dropout_reference(const std::vector<double>& x, int64_t columns, float p, const DropoutKey& key) {
  std::vector<double> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const double number = dropout_number(key, index / columns, index % columns);
    out[i] = number >= static_cast<double>(p) * 0x1p32 ? x[i] / (1 - static_cast<double>(p)) : 0;
  }
  return out;
}

namespace {

struct Case {
  int64_t rows;
  int64_t columns;
  float p;
  bool in_doctor;
};

const DropoutKey kKey{0x123456789abcdefU, 4000000000, 7, 3};

/// A p whose high half is that of element (2, 1), so that the low half decides about it.
float undecided_p() { return static_cast<float>(((dropout_number(kKey, 2, 1) & 0xffff0000U) | 0x8000U) * 0x1p-32); }

// Odd lengths and their like, a row that ends in either half of a chunk of 512 elements, p from nothing to nearly all, and a real model's.
std::vector<Case> all_cases() {
  return {{1, 1, 0.5F, false},          {3, 5, 0.1F, true},
          {5, 63, 0.5F, false},         {63, 65, 0.1F, true},
          {5, 64, 0.5F, true},          {7, 257, 0.9F, true},
          {7, 260, 0.9F, true},         {5, 513, 0.1F, false},
          {5, 343, 0.1F, false},        {3, 2006, 0.2F, false},
          {2, 8192, 0.1F, false},       {65, 256, 0, true},
          {65, 256, 0.9999F, false},    {17, 257, 1 - 0x1p-24F, false},
          {5, 64, undecided_p(), true}, {5, 65, undecided_p(), true},
          {256, 768, 0.1F, false},      {66000, 4, 0.1F, false}};
}

CaseResult run_case(device::Stream& stream, const Case& one, bool is_backward) {
  const std::vector<float> x = test_values(one.rows * one.columns, 1);
  const Dropout args{
      upload_values(stream, x), poisoned(stream, one.rows * one.columns), one.rows, one.columns, one.p, kKey};
  if (is_backward) {
    dropout_backward(stream, args);
  } else {
    dropout(stream, args);
  }
  CaseResult result;
  compare(result, is_backward ? "d_x" : "out", download_values(stream, args.out),
          dropout_reference(to_double(x), one.columns, one.p, kKey), allowed_f32(1));
  return result;
}

std::vector<KernelCase> cases_of(bool is_backward) {
  std::vector<KernelCase> cases;
  for (const Case& one : all_cases()) {
    cases.push_back({fmt::format("rows {}, columns {}, p {}", one.rows, one.columns, one.p), one.in_doctor,
                     [one, is_backward](device::Stream& stream) { return run_case(stream, one, is_backward); }});
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> dropout_cases() { return cases_of(false); }
std::vector<KernelCase> dropout_backward_cases() { return cases_of(true); }

}  // namespace athanor::kernels
