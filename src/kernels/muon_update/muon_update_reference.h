// The plain loops in double precision that judge muon_update, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

struct MuonState {
  std::vector<double> weights;  // (in, out)
  std::vector<double> m;
};

struct MuonSettings {
  double lr = 0.5;
  double weight_decay = 0.1;
  double momentum = 0.95;
};

/// x of (rows, columns) divided by its norm + 1e-7, then five Newton-Schulz steps as published: on the transpose if rows > columns.
std::vector<double> newton_schulz_reference(std::vector<double> x, int64_t rows, int64_t columns);

/// One step of a weight of `in` rows and `out` columns.
void muon_update_reference(MuonState& state, const std::vector<double>& gradients, int64_t in, int64_t out,
                           const MuonSettings& settings, double clip_scale);

std::vector<KernelCase> muon_update_cases();

}  // namespace athanor::kernels
