// The doors of the quantised products: checks of shapes and formats, choice of device, and their entries in the table of kernels.
#include "kernels/matmul_quantized/matmul_quantized.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/matmul_quantized/matmul_quantized_internal.h"
#include "kernels/matmul_quantized/matmul_quantized_reference.h"
#include "kernels/matmul_quantized/weight_blocks.h"

namespace athanor::kernels {

const WeightBlocks& weight_blocks(WeightFormat format) {
  static constexpr WeightBlocks kQ8_0{"q8_0", 32, 34, false};
  static constexpr WeightBlocks kQ6_K{"q6_k", 256, 210, false};
  static constexpr WeightBlocks kQ4_0{"q4_0", 32, 18, true};
  static constexpr WeightBlocks kQ4_1{"q4_1", 32, 20, true};
  static constexpr WeightBlocks kQ4_K{"q4_k", 256, 144, true};
  switch (format) {
    case WeightFormat::Q8_0:
      return kQ8_0;
    case WeightFormat::Q6_K:
      return kQ6_K;
    case WeightFormat::Q4_0:
      return kQ4_0;
    case WeightFormat::Q4_1:
      return kQ4_1;
    case WeightFormat::Q4_K:
      return kQ4_K;
    case WeightFormat::Affine:
      break;
  }
  fail("weight_blocks: affine groups have no blocks; pass a block type");
}

int64_t quantized_bytes(WeightFormat format, const AffineLayout& layout, int64_t n, int64_t k) {
  if (format == WeightFormat::Affine) return n * k * layout.bits / 8;
  const WeightBlocks& blocks = weight_blocks(format);
  return ceil_div(n * (k / blocks.values) * blocks.bytes, 4) * 4;
}

device::KernelCost quantized_cost(const MatMulQuantized& args, int64_t m, int64_t n) {
  int64_t bytes = quantized_bytes(args.format, args.layout, n, args.k) + 4 * (m * args.k + m * n);
  if (args.format == WeightFormat::Affine) {
    bytes += 2 * affine_scale_bytes(args.layout, n * args.k / args.layout.group);
  }
  return {2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(args.k),
          static_cast<double>(bytes)};
}

namespace {

bool has_four_bits(const MatMulQuantized& args) {
  return args.format == WeightFormat::Affine ? args.layout.bits == 4 : weight_blocks(args.format).four_bits;
}

void check_weights(const char* name, const MatMulQuantized& args) {
  if (args.format == WeightFormat::Affine) {
    check_affine_operands(name, args.layout, args.w, args.scales, args.biases, args.n, args.k);
    return;
  }
  const WeightBlocks& blocks = weight_blocks(args.format);
  check(args.k % blocks.values == 0, "{}: rows of {} values are no whole {} blocks of {}; keep such a weight in f32",
        name, args.k, blocks.name, blocks.values);
  check_size(name, "w", args.w, quantized_bytes(args.format, args.layout, args.n, args.k), 1);
}

void run_product(Stream& stream, const char* name, const MatMulQuantized& args) {
  check(args.m > 0 && args.n > 0 && args.k > 0, "{}: M {}, N {}, K {} were given; each must be at least 1", name,
        args.m, args.n, args.k);
  check_weights(name, args);
  check_size(name, "x", args.x, args.m * args.k);
  check_size(name, "y", args.y, args.m * args.n);
  launch(
      stream, name, quantized_cost(args, args.m, args.n), [&](auto& cpu) { matmul_quantized_cpu(cpu, args); },
      [&](auto& webgpu) { matmul_quantized_webgpu(webgpu, name, args, webgpu.limits().max_binding_bytes); });
}

}  // namespace

void matmul_q8(Stream& stream, const MatMulQuantized& args) {
  check(!has_four_bits(args), "matmul_q8: the weights have four bits; use matmul_q4");
  run_product(stream, "matmul_q8", args);
}

void matmul_q4(Stream& stream, const MatMulQuantized& args) {
  check(has_four_bits(args), "matmul_q4: the weights have more than four bits; use matmul_q8");
  run_product(stream, "matmul_q4", args);
}

namespace {

/// One token of decoding: M is 1, and W in MLX's groups of 64 has about `bytes`.
KernelBench bench_product(Stream& stream, int64_t bytes, int64_t bits) {
  MatMulQuantized args;
  args.layout.bits = bits;
  args.m = 1;
  args.k = 4096;
  args.n = bytes * 8 / bits / args.k;
  const int64_t scale_bytes = affine_scale_bytes(args.layout, args.n * args.k / args.layout.group);
  args.x = stream.device().allocate(args.k * 4, "bench x");
  args.w = stream.device().allocate(quantized_bytes(args.format, args.layout, args.n, args.k), "bench w");
  args.scales = stream.device().allocate(scale_bytes, "bench scales");
  args.biases = stream.device().allocate(scale_bytes, "bench biases");
  args.y = stream.device().allocate(args.n * 4, "bench y");
  for (const Buffer& buffer : {args.x, args.w, args.scales, args.biases}) stream.fill_zero(buffer);
  const auto product = bits == 8 ? matmul_q8 : matmul_q4;
  return {fmt::format("M 1, N {}, K {}, {} bits, groups of 64, f16 scales", args.n, args.k, bits),
          quantized_cost(args, args.m, args.n), [&stream, args, product] { product(stream, args); }};
}

}  // namespace

std::vector<KernelInfo> matmul_quantized_kernels() {
  return {
      {"matmul_q8", "Y[M,N] = X[M,K] @ W[N,K]^T, W in MLX 8 bit, Q8_0 or Q6_K", matmul_q8_cases(),
       [](Stream& stream, int64_t bytes) { return bench_product(stream, bytes, 8); }},
      {"matmul_q4", "Y[M,N] = X[M,K] @ W[N,K]^T, W in MLX 4 bit, Q4_0, Q4_1 or Q4_K", matmul_q4_cases(),
       [](Stream& stream, int64_t bytes) { return bench_product(stream, bytes, 4); }},
  };
}

}  // namespace athanor::kernels
