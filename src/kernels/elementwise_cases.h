// What the cases and benchmarks of elementwise kernels share: the sizes they are tried at, the run against the plain loop, and large
// operands.
#pragma once

#include "kernels/compare.h"
#include "kernels/kernel_info.h"

#include <functional>
#include <string>
#include <vector>

namespace athanor::kernels {

struct ElementwiseSize {
  int64_t count;
  float scale;  // of the values that go through the activation
  bool in_doctor;
};

/// Below and above a workgroup of 256 threads, with and without the four-wide variant, values of 1e4 that every exponential must
/// survive, and a real activation (1024 x 1024).
const std::vector<ElementwiseSize>& elementwise_sizes();

/// A case a size; run makes the operands, launches and compares.
std::vector<KernelCase> elementwise_cases(
    const std::function<CaseResult(device::Stream&, const ElementwiseSize&)>& run);

using Buffers = std::vector<device::Buffer>;

/// Calls a kernel's door: the inputs and outputs in the order of its struct, each of `count` values.
using ElementwiseLaunch =
    std::function<void(device::Stream&, const Buffers& inputs, const Buffers& outputs, int64_t count)>;

/// An output, and what the plain loop makes of it.
struct WantedTensor {
  std::string name;
  std::vector<double> values;
};

/// Uploads the inputs, launches into outputs that hold NaN, and compares every output.
CaseResult run_elementwise(device::Stream& stream, const ElementwiseLaunch& launch,
                           const std::vector<std::vector<float>>& inputs, const std::vector<WantedTensor>& wanted);

/// Tensors of `bytes` each; flops are those of one value.
KernelBench bench_elementwise(device::Stream& stream, int64_t bytes, const ElementwiseLaunch& launch, int inputs,
                              int outputs, double flops);

/// `count` test values for a benchmark; the first 65,536 repeat, since random numbers for gigabytes take long.
device::Buffer repeated_test_values(device::Stream& stream, int64_t count, uint32_t seed);

}  // namespace athanor::kernels
