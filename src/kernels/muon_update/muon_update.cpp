// The door of muon_update: checks, the order of its passes and matrix products, its benchmark, and its entry in the table of kernels.
#include "kernels/muon_update/muon_update.h"

#include "kernels/bench_values.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/matmul/matmul.h"
#include "kernels/muon_update/muon_update_internal.h"
#include "kernels/muon_update/muon_update_reference.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

constexpr const char* kName = "muon_update";

void momentum_pass(Stream& stream, const MuonUpdate& args, const Buffer& x) {
  const double count = static_cast<double>(args.rows * args.columns);
  const device::KernelCost cost{5 * count, 16 * count};
  launch(
      stream, kName, cost, [&](auto& cpu) { muon_momentum_cpu(cpu, args, x); },
      [&](auto& webgpu) { muon_momentum_webgpu(webgpu, args, x, cost); });
}

/// x divided by its Frobenius norm.
void normalize_pass(Stream& stream, const Buffer& x) {
  const int64_t count = x.size_bytes() / 4;
  const Buffer partial = stream.device().allocate(norm_blocks(count) * 4, "muon_update block sums");
  const Buffer norm = stream.device().allocate(16, "muon_update norm");
  gradient_norm_squared(stream, {x, count, partial});
  finalize_grad_stats(stream, {partial, norm_blocks(count), 0, norm});
  const device::KernelCost cost{1.0 * count, 8.0 * count};
  launch(
      stream, kName, cost, [&](auto& cpu) { muon_normalize_cpu(cpu, x, norm); },
      [&](auto& webgpu) { muon_normalize_webgpu(webgpu, x, norm, cost); });
}

void polynomial_pass(Stream& stream, const Buffer& gram, const Buffer& square, int64_t n) {
  const device::KernelCost cost{4.0 * n * n, 12.0 * n * n};
  launch(
      stream, kName, cost, [&](auto& cpu) { muon_polynomial_cpu(cpu, gram, square, n); },
      [&](auto& webgpu) { muon_polynomial_webgpu(webgpu, gram, square, n, cost); });
}

void apply_pass(Stream& stream, const MuonApply& args) {
  const device::KernelCost cost{3.0 * args.count, 12.0 * args.count};
  launch(
      stream, kName, cost, [&](auto& cpu) { muon_apply_cpu(cpu, args); },
      [&](auto& webgpu) { muon_apply_webgpu(webgpu, args, cost); });
}

/// Five Newton-Schulz steps on x (rows, columns), which is overwritten; the result. The Gram matrix is the smaller of the two, which
/// saves transposing x: x x^T from the left is x^T x from the right.
Buffer orthogonalize(Stream& stream, Buffer x, int64_t rows, int64_t columns) {
  const bool is_tall = rows > columns;
  const int64_t n = std::min(rows, columns);
  const Buffer gram = stream.device().allocate(n * n * 4, "muon_update Gram matrix");
  const Buffer square = stream.device().allocate(n * n * 4, "muon_update square");
  Buffer next = stream.device().allocate(x.size_bytes(), "muon_update direction");
  for (int step = 0; step < kMuonSteps; ++step) {
    if (is_tall) {
      matmul_at(stream, {x, x, gram, n, n, rows});
    } else {
      matmul_t(stream, {x, x, gram, n, n, columns});
    }
    matmul(stream, {gram, gram, square, n, n, n});
    polynomial_pass(stream, gram, square, n);
    if (is_tall) {
      matmul(stream, {x, square, next, rows, n, n});
    } else {
      matmul(stream, {square, x, next, n, columns, n});
    }
    std::swap(x, next);
  }
  return x;
}

device::KernelCost cost_of(int64_t rows, int64_t columns) {
  const double n = static_cast<double>(std::min(rows, columns));
  const double count = static_cast<double>(rows * columns);
  return {kMuonSteps * (4 * n * count + 2 * n * n * n), 16 * count};
}

// The arithmetic grows by the third power of the edge: 2048 for 256 MiB.
KernelBench bench_muon(Stream& stream, int64_t bytes) {
  const auto n = static_cast<int64_t>(std::cbrt(32.0 * static_cast<double>(bytes))) / 64 * 64;
  MuonUpdate args;
  args.weights = bench_values(stream, n * n, 1);
  args.gradients = bench_values(stream, n * n, 2);
  args.m = bench_zeros(stream, n * n);
  args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  args.rows = args.columns = n;
  return {fmt::format("rows {}, columns {}", n, n), cost_of(n, n), [&stream, args] { muon_update(stream, args); }};
}

}  // namespace

void muon_update(Stream& stream, const MuonUpdate& args) {
  check(args.rows > 0 && args.columns > 0, "muon_update: {} rows and {} columns were given; each must be at least 1",
        args.rows, args.columns);
  const int64_t count = args.rows * args.columns;
  check_size(kName, "weights", args.weights, count);
  check_size(kName, "gradients", args.gradients, count);
  check_size(kName, "m", args.m, count);
  check_size(kName, "stats", args.stats, 4);
  check(std::isfinite(args.lr) && std::isfinite(args.weight_decay) && args.weight_decay >= 0,
        "muon_update: lr {} and weight decay {} were given; pass finite numbers, the decay at least 0", args.lr,
        args.weight_decay);
  check(args.momentum >= 0 && args.momentum < 1 && args.one_minus_momentum > 0 && args.one_minus_momentum <= 1,
        "muon_update: momentum {} and one_minus_momentum {} were given; pass one in [0, 1) and 1 minus it, taken in "
        "double",
        args.momentum, args.one_minus_momentum);
  const Buffer x = stream.device().allocate(count * 4, "muon_update direction");
  momentum_pass(stream, args, x);
  normalize_pass(stream, x);
  const Buffer direction = orthogonalize(stream, x, args.rows, args.columns);
  const double factor = std::sqrt(std::max(1.0, static_cast<double>(args.columns) / static_cast<double>(args.rows)));
  const double keep = 1 - static_cast<double>(args.lr) * static_cast<double>(args.weight_decay);
  apply_pass(stream, {args.weights, direction, args.stats, count, static_cast<float>(keep),
                      static_cast<float>(static_cast<double>(args.lr) * factor)});
}

std::vector<KernelInfo> muon_update_kernels() {
  return {{"muon_update", "momentum made orthogonal by Newton-Schulz steps, for a hidden matrix", muon_update_cases(),
           bench_muon}};
}

}  // namespace athanor::kernels
