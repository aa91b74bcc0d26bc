// A product's time follows its FLOPs, the cube of its edge, so the edge is the cube root of what it is asked for.
#include "kernels/matmul/matmul_bench.h"

#include "kernels/matmul/matmul_cases.h"
#include "kernels/matmul/matmul_internal.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace athanor::kernels {

namespace {

constexpr int64_t kMultiple = 64;

int64_t edge_of(int64_t bytes) {
  constexpr double kBytesOf4096 = 256.0 * (1 << 20);
  const double edge = 4096 * std::cbrt(static_cast<double>(bytes) / kBytesOf4096);
  return std::max<int64_t>(1, std::llround(edge / kMultiple)) * kMultiple;
}

/// Normal values, repeated: millions of fresh ones would take longer than the benchmark.
std::vector<float> repeated_values(int64_t count, uint32_t seed) {
  const std::vector<float> block = test_values(std::min<int64_t>(count, 1 << 16), seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = block[i % block.size()];
  return values;
}

ProductCall random_call(device::Stream& stream, const ProductKernel& kernel, const Extents& size) {
  ProductOperands operands;
  operands.x = repeated_values(x_matrix(kernel.product, size).count(), 1);
  if (is_swiglu(kernel.product)) operands.up = repeated_values(x_matrix(kernel.product, size).count(), 2);
  operands.w = repeated_values(w_matrix(kernel.product, size).count(), 3);
  operands.before = std::vector<float>(static_cast<size_t>(y_matrix(size).count()));
  return upload_call(stream, kernel, size, operands);
}

}  // namespace

KernelBench matmul_bench(device::Stream& stream, const ProductKernel& kernel, int64_t bytes,
                         MatMulPrecision precision) {
  const int64_t edge = edge_of(bytes);
  const Extents size{edge, edge, edge};
  ProductCall call = random_call(stream, kernel, size);
  const auto scales = std::make_shared<OperandScales<Buffer>>();
  call.precision = precision;
  call.kept = {&scales->x, &scales->up, &scales->w};
  KernelBench bench;
  bench.sizes = fmt::format("M {}, N {}, K {}", edge, edge, edge);
  bench.cost = cost_of(call);
  bench.launch = [&stream, call, scales] { run_product(stream, call); };
  return bench;
}

TuningLaunch matmul_tuning(device::Stream& stream, const ProductKernel& kernel, const Extents& size,
                           MatMulPrecision precision, OperandValues values) {
  ProductCall call =
      values == OperandValues::Random ? random_call(stream, kernel, size) : empty_call(stream, kernel, size);
  const auto scales = std::make_shared<OperandScales<Buffer>>();
  call.precision = precision;
  call.kept = {&scales->x, &scales->up, &scales->w};
  return {[&stream, call, scales] { run_product(stream, call); }, [scales] { *scales = {}; }, call.y};
}

}  // namespace athanor::kernels
