// The doors of the matrix products: checks of shapes, choice of device, and their entries in the table of kernels.
#include "kernels/matmul/matmul.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/matmul/matmul_reference.h"

namespace athanor::kernels {

namespace {

device::KernelCost product_cost(int64_t rows, int64_t columns, int64_t sum, int64_t values) {
  return {2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(sum),
          4.0 * static_cast<double>(values)};
}

void check_sizes(const char* name, int64_t m, int64_t n, int64_t k) {
  check(m > 0 && n > 0 && k > 0, "{}: M {}, N {}, K {} were given; each must be at least 1", name, m, n, k);
}

/// Values moved if each operand is read once; an accumulated result is read as well.
int64_t result_values(int64_t count, Accumulate accumulate) {
  return accumulate == Accumulate::Yes ? 2 * count : count;
}

void check_matmul(const char* name, const MatMul& args) {
  check_sizes(name, args.m, args.n, args.k);
  check_size(name, "x", args.x, args.m * args.k);
  check_size(name, "w", args.w, args.k * args.n);
  check_size(name, "y", args.y, args.m * args.n);
}

device::KernelCost matmul_cost(const MatMul& args) {
  return product_cost(args.m, args.n, args.k,
                      args.m * args.k + args.k * args.n + result_values(args.m * args.n, args.accumulate));
}

}  // namespace

void matmul(Stream& stream, const MatMul& args) {
  const char* name = matmul_name(args);
  check_matmul(name, args);
  launch(
      stream, name, matmul_cost(args), [&](auto& cpu) { matmul_cpu(cpu, args); },
      [&](auto& webgpu) { matmul_webgpu(webgpu, args); });
}

void matmul_t(Stream& stream, const MatMul& args) {
  const char* name = matmul_t_name(args);
  check_matmul(name, args);
  launch(
      stream, name, matmul_cost(args), [&](auto& cpu) { matmul_t_cpu(cpu, args); },
      [&](auto& webgpu) { matmul_t_webgpu(webgpu, args); });
}

void matmul_at(Stream& stream, const MatMulAt& args) {
  const char* name = matmul_at_name(args);
  check_sizes(name, args.m, args.n, args.k);
  check_size(name, "x", args.x, args.m * args.k);
  check_size(name, "b", args.b, args.m * args.n);
  check_size(name, "y", args.y, args.k * args.n);
  const device::KernelCost cost = product_cost(
      args.k, args.n, args.m, args.m * args.k + args.m * args.n + result_values(args.k * args.n, args.accumulate));
  launch(
      stream, name, cost, [&](auto& cpu) { matmul_at_cpu(cpu, args); },
      [&](auto& webgpu) { matmul_at_webgpu(webgpu, args); });
}

void matmul_swiglu_a(Stream& stream, const MatMulSwiglu& args) {
  const char* name = "matmul_swiglu_a";
  check_sizes(name, args.m, args.n, args.k);
  check_size(name, "gate", args.gate, args.m * args.k);
  check_size(name, "up", args.up, args.m * args.k);
  check_size(name, "w", args.w, args.k * args.n);
  check_size(name, "y", args.y, args.m * args.n);
  const device::KernelCost cost =
      product_cost(args.m, args.n, args.k, 2 * args.m * args.k + args.k * args.n + args.m * args.n);
  launch(
      stream, name, cost, [&](auto& cpu) { matmul_swiglu_a_cpu(cpu, args); },
      [&](auto& webgpu) { matmul_swiglu_a_webgpu(webgpu, args); });
}

void matmul_at_swiglu_a(Stream& stream, const MatMulAtSwiglu& args) {
  const char* name = matmul_at_swiglu_a_name(args);
  check_sizes(name, args.m, args.n, args.k);
  check_size(name, "gate", args.gate, args.m * args.k);
  check_size(name, "up", args.up, args.m * args.k);
  check_size(name, "b", args.b, args.m * args.n);
  check_size(name, "y", args.y, args.k * args.n);
  const device::KernelCost cost = product_cost(
      args.k, args.n, args.m, 2 * args.m * args.k + args.m * args.n + result_values(args.k * args.n, args.accumulate));
  launch(
      stream, name, cost, [&](auto& cpu) { matmul_at_swiglu_a_cpu(cpu, args); },
      [&](auto& webgpu) { matmul_at_swiglu_a_webgpu(webgpu, args); });
}

std::vector<KernelInfo> matmul_kernels() {
  return {
      {"matmul", "Y[M,N] = X[M,K] @ W[K,N]", matmul_cases(Product::Plain, Accumulate::No)},
      {"matmul_acc", "Y[M,N] += X[M,K] @ W[K,N]", matmul_cases(Product::Plain, Accumulate::Yes)},
      {"matmul_t", "Y[M,N] = X[M,K] @ W[N,K]^T", matmul_cases(Product::T, Accumulate::No)},
      {"matmul_t_acc", "Y[M,N] += X[M,K] @ W[N,K]^T", matmul_cases(Product::T, Accumulate::Yes)},
      {"matmul_at", "Y[K,N] = X[M,K]^T @ B[M,N]", matmul_cases(Product::At, Accumulate::No)},
      {"matmul_at_acc", "Y[K,N] += X[M,K]^T @ B[M,N]", matmul_cases(Product::At, Accumulate::Yes)},
      {"matmul_swiglu_a", "Y[M,N] = (silu(GATE) * UP)[M,K] @ W[K,N]", matmul_cases(Product::Swiglu, Accumulate::No)},
      {"matmul_at_swiglu_a", "Y[K,N] = (silu(GATE) * UP)[M,K]^T @ B[M,N]",
       matmul_cases(Product::AtSwiglu, Accumulate::No)},
      {"matmul_at_acc_swiglu_a", "Y[K,N] += (silu(GATE) * UP)[M,K]^T @ B[M,N]",
       matmul_cases(Product::AtSwiglu, Accumulate::Yes)},
  };
}

}  // namespace athanor::kernels
