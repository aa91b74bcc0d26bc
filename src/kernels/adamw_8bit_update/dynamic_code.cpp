// The published tables of the 8-bit code.
#include "kernels/adamw_8bit_update/dynamic_code.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

constexpr int kDecades = 7;

/// Middles of the cells of all decades, the lowest decade with `cells` of them; with their negatives when signed.
std::array<float, 256> code_values(int cells, bool is_signed) {
  std::array<float, 256> values{};  // begins with the zero
  size_t count = 1;
  for (int decade = 0; decade < kDecades; ++decade, cells *= 2) {
    for (int cell = 0; cell < cells; ++cell) {
      const double middle = (0.1 + 0.9 * (cell + 0.5) / cells) * std::pow(10.0, decade - kDecades + 1);
      values[count++] = static_cast<float>(middle);
      if (is_signed) values[count++] = static_cast<float>(-middle);
    }
  }
  values[count] = 1;
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

std::array<float, 256> m_code_values() { return code_values(1, true); }
std::array<float, 256> v_code_values() { return code_values(2, false); }

}  // namespace athanor::kernels
