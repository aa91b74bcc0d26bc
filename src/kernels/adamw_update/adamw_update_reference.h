// The plain loop in double precision that judges adamw_update and adamw_update_f16, and their cases.
#pragma once

#include "kernels/adamw_update/adamw_update.h"
#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

struct AdamwState {
  std::vector<double> weights;
  std::vector<double> m;
  std::vector<double> v;
};

struct AdamwSettings {
  double lr = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

/// One step, number t from 1, of the elements of the segments; all others stay as they are.
void adamw_update_reference(AdamwState& state, const std::vector<double>& gradients,
                            const std::vector<Segment>& segments, const AdamwSettings& settings, double clip_scale,
                            int t);

/// The same settings as the kernels take them.
AdamwStep adamw_step(const AdamwSettings& settings, int t);

/// What the mirror holds after a step: the weights of the segments rounded to the nearest half, all other halves as they were.
std::vector<uint32_t> mirror_reference(std::vector<uint32_t> before, const std::vector<float>& weights,
                                       const std::vector<Segment>& segments);

std::vector<KernelCase> adamw_update_cases();
std::vector<KernelCase> adamw_update_f16_cases();

}  // namespace athanor::kernels
