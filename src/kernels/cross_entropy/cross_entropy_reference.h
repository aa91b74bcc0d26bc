// The plain loops in double precision that judge cross_entropy, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// -log softmax(row)[target] for each target; 0 where it is kIgnoreTarget. logits (targets.size(), vocabulary).
std::vector<double> cross_entropy_reference(const std::vector<double>& logits, const std::vector<int32_t>& targets,
                                            int64_t vocabulary);

/// (softmax - onehot) * scale; zeros for rows whose target is kIgnoreTarget.
std::vector<double> cross_entropy_backward_reference(const std::vector<double>& logits,
                                                     const std::vector<int32_t>& targets, int64_t vocabulary,
                                                     double scale);

std::vector<KernelCase> cross_entropy_cases();
std::vector<KernelCase> cross_entropy_backward_cases();
std::vector<KernelCase> cross_entropy_in_place_cases();

}  // namespace athanor::kernels
