// The plain loop in double precision that judges rope, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

struct RopeSizes {
  int64_t rows;
  int64_t heads;
  int64_t head_dim;
  int64_t length;
  int64_t first_position;
  double theta = 10000;
};

/// x (rows, H*D) rotated by sign times the angle of each row's position; cos and sin in double of angles whose inverse
/// frequencies are rounded to f32.
std::vector<double> rope_reference(const std::vector<double>& x, const RopeSizes& sizes, double sign);

std::vector<KernelCase> rope_cases();
std::vector<KernelCase> rope_backward_cases();

}  // namespace athanor::kernels
