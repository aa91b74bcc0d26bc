// The plain loop in double precision that judges sgd_update, and its cases.
#pragma once

#include "kernels/kernel_info.h"
#include "kernels/sgd_update/sgd_update.h"

#include <vector>

namespace athanor::kernels {

struct SgdSettings {
  double lr = 0.1;
  double momentum = 0.9;
  Nesterov nesterov = Nesterov::No;
};

/// One step of the elements of the segments, as torch.optim.SGD writes it; all others stay as they are. m is not read without momentum.
void sgd_update_reference(std::vector<double>& weights, std::vector<double>& m, const std::vector<double>& gradients,
                          const std::vector<Segment>& segments, const SgdSettings& settings, double clip_scale);

std::vector<KernelCase> sgd_update_cases();

}  // namespace athanor::kernels
