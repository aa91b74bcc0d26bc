// For tests: the gradients that tests/golden/make_optimizer_golden.py gives to MLX's optimizers.
#pragma once

#include <vector>

namespace athanor::kernels {

/// Fifteen values for step 0 or 1.
inline std::vector<float> golden_gradients(int step) {
  std::vector<float> values;
  for (int i = 0; i < 15; ++i) {
    values.push_back(static_cast<float>(step == 0 ? i * 7 % 11 - 5 : i * 5 % 13 - 6) / 10);
  }
  return values;
}

/// Weights 0, 0.1, 0.2, ...
inline std::vector<float> golden_weights() {
  std::vector<float> values;
  for (int i = 0; i < 15; ++i) values.push_back(static_cast<float>(i) / 10);
  return values;
}

}  // namespace athanor::kernels
