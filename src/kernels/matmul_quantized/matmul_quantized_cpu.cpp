// The quantised products for the CPU device: rows of W are unpacked into a worker's own memory, which stays in its cache, and multiplied
// from there. The chunks follow from the sizes alone, so results do not depend on the number of threads.
#include "device/cpu/blas.h"
#include "device/cpu/simd.h"
#include "kernels/matmul_quantized/matmul_quantized_internal.h"
#include "kernels/matmul_quantized/weight_decode_cpu.h"

namespace athanor::kernels {

using device::cpu::data;
using device::cpu::sgemm;
using device::cpu::Transpose;

namespace {

constexpr int64_t kRowsOfPanel = 32;              // of W, unpacked at once for a product with many rows
constexpr int64_t kLeastChunkWeights = 32 << 10;  // of a product with few rows: about 10 us

ATHANOR_SIMD_CLONES
float dot(const float* x, const float* w, int64_t k) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < k; ++i) sum += x[i] * w[i];
  return sum;
}

PackedWeights weights_of(const MatMulQuantized& args) {
  PackedWeights weights{args.format, args.layout, data<uint8_t>(args.w), nullptr, nullptr, args.k};
  if (args.format == WeightFormat::Affine) {
    weights.scales = device::cpu::raw_data(args.scales);
    weights.biases = device::cpu::raw_data(args.biases);
  }
  return weights;
}

}  // namespace

void matmul_quantized_cpu(device::cpu::CpuStream& stream, const MatMulQuantized& args) {
  const PackedWeights weights = weights_of(args);
  const float* x = data<float>(args.x);
  float* y = data<float>(args.y);
  const bool few_rows = args.m <= kFewQuantizedRows;
  device::cpu::ThreadPool& threads = stream.threads();
  const int64_t chunk = few_rows ? ceil_div(kLeastChunkWeights, args.k) : kRowsOfPanel;
  threads.parallel_for(args.n, chunk, [&](int64_t begin, int64_t end, int worker) {
    float* rows = threads.scratch(worker, (few_rows ? 1 : kRowsOfPanel) * args.k);
    if (!few_rows) {
      decode_rows(weights, begin, end - begin, rows);
      sgemm(Transpose::No, Transpose::Yes, args.m, end - begin, args.k, x, args.k, rows, args.k, 0, y + begin, args.n);
      return;
    }
    for (int64_t column = begin; column < end; ++column) {
      decode_rows(weights, column, 1, rows);
      for (int64_t row = 0; row < args.m; ++row) y[row * args.n + column] = dot(x + row * args.k, rows, args.k);
    }
  });
}

}  // namespace athanor::kernels
