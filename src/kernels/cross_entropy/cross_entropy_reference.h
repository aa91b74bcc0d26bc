// The plain loops in double precision that judge cross_entropy, its cases and benchmarks.
#pragma once

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// The loss of each target, 0 where it is kIgnoreTarget. logits (targets.size(), vocabulary).
std::vector<double> cross_entropy_reference(const std::vector<double>& logits, const std::vector<int32_t>& targets,
                                            int64_t vocabulary, const CrossEntropyTerms& terms = {});

/// Gradient of the sum of losses times scale; zeros for rows whose target is kIgnoreTarget.
std::vector<double> cross_entropy_backward_reference(const std::vector<double>& logits,
                                                     const std::vector<int32_t>& targets, int64_t vocabulary,
                                                     double scale, const CrossEntropyTerms& terms = {});

device::Buffer upload_targets(device::Stream& stream, const std::vector<int32_t>& targets);
CrossEntropyTotals download_totals(device::Stream& stream, const device::Buffer& totals);

std::vector<KernelCase> cross_entropy_cases();
std::vector<KernelCase> cross_entropy_backward_cases();
std::vector<KernelCase> cross_entropy_in_place_cases();
KernelBench cross_entropy_bench(device::Stream& stream, int64_t bytes);
KernelBench cross_entropy_backward_bench(device::Stream& stream, int64_t bytes);
KernelBench cross_entropy_in_place_bench(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
