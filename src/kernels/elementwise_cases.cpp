// Sizes, runs and benchmarks of elementwise kernels.
#include "kernels/elementwise_cases.h"

#include <algorithm>
#include <span>

namespace athanor::kernels {

const std::vector<ElementwiseSize>& elementwise_sizes() {
  static const std::vector<ElementwiseSize> sizes = {
      {1, 3, false},    {3, 3, false},    {4, 3, true},       {5, 3, false},
      {63, 3, true},    {65, 3, false},   {257, 3, false},    {2006, 3, false},
      {4100, 3, false}, {65, 1e4F, true}, {1028, 1e4F, true}, {1024 * 1024, 3, false},
  };
  return sizes;
}

std::vector<KernelCase> elementwise_cases(
    const std::function<CaseResult(device::Stream&, const ElementwiseSize&)>& run) {
  std::vector<KernelCase> cases;
  for (const ElementwiseSize& size : elementwise_sizes()) {
    cases.push_back({fmt::format("count {}, values of {}", size.count, size.scale), size.in_doctor,
                     [run, size](device::Stream& stream) { return run(stream, size); }});
  }
  return cases;
}

CaseResult run_elementwise(device::Stream& stream, const ElementwiseLaunch& launch,
                           const std::vector<std::vector<float>>& inputs, const std::vector<WantedTensor>& wanted) {
  const int64_t count = static_cast<int64_t>(inputs.front().size());
  Buffers in;
  Buffers out;
  for (const std::vector<float>& values : inputs) in.push_back(upload_values(stream, values));
  for (size_t i = 0; i < wanted.size(); ++i) out.push_back(poisoned(stream, count));
  launch(stream, in, out, count);
  CaseResult result;
  for (size_t i = 0; i < wanted.size(); ++i) {
    compare(result, wanted[i].name, download_values(stream, out[i]), wanted[i].values, allowed_f32(1));
  }
  return result;
}

KernelBench bench_elementwise(device::Stream& stream, int64_t bytes, const ElementwiseLaunch& launch, int inputs,
                              int outputs, double flops) {
  const int64_t count = bytes / 4;
  Buffers in;
  Buffers out;
  for (int i = 0; i < inputs; ++i) in.push_back(repeated_test_values(stream, count, static_cast<uint32_t>(i + 1)));
  for (int i = 0; i < outputs; ++i) out.push_back(stream.device().allocate(count * 4, "benchmark result"));
  const double values = static_cast<double>(count);
  return {fmt::format("count {}", count),
          {flops * values, 4.0 * (inputs + outputs) * values},
          [&stream, launch, in, out, count] { launch(stream, in, out, count); }};
}

device::Buffer repeated_test_values(device::Stream& stream, int64_t count, uint32_t seed) {
  const std::vector<float> values = test_values(std::min<int64_t>(count, 65536), seed);
  const std::span<const std::byte> block = std::as_bytes(std::span(values));
  const int64_t block_bytes = static_cast<int64_t>(block.size());
  device::Buffer buffer = stream.device().allocate(count * 4, "benchmark operand");
  for (int64_t offset = 0; offset < count * 4; offset += block_bytes) {
    const int64_t bytes = std::min(block_bytes, count * 4 - offset);
    stream.upload(buffer.slice(offset, bytes), block.first(static_cast<size_t>(bytes)));
  }
  return buffer;
}

}  // namespace athanor::kernels
