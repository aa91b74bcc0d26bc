// The cases and benchmarks that add, sub and mul share: the shapes they are tried at, and the runs against their plain loops.
#pragma once

#include "kernels/broadcast/broadcast.h"
#include "kernels/elementwise_cases.h"
#include "kernels/kernel_info.h"

#include <string>
#include <vector>

namespace athanor::kernels {

/// Gradients of an operation on a and b; d_b has b's size.
struct BroadcastGradients {
  std::vector<double> d_a;
  std::vector<double> d_b;
};

enum class Wanted { Both, OnlyA, OnlyB };  // which gradients the caller asks for

struct BroadcastCase {
  int64_t rows;
  int64_t columns;  // with one row b is as large as a
  bool in_doctor;
  Wanted wanted = Wanted::Both;
};

/// Throughout the sizes below and above a workgroup of 256 threads and a block of 32 rows, with and without the four-wide variant, three
/// levels of the tree over rows, and a real activation with its bias.
const std::vector<BroadcastCase>& broadcast_cases();
/// What only a gradient knows: each half of it alone.
const std::vector<BroadcastCase>& broadcast_halves();

std::string name_of(const BroadcastCase& shape);

using BroadcastForward = std::vector<double> (*)(const std::vector<double>& a, const std::vector<double>& b);

/// run(stream, shape) for each shape.
template <typename Run>
std::vector<KernelCase> cases_at(const std::vector<BroadcastCase>& shapes, Run run) {
  std::vector<KernelCase> cases;
  for (const BroadcastCase& shape : shapes) {
    cases.push_back(
        {name_of(shape), shape.in_doctor, [run, shape](device::Stream& stream) { return run(stream, shape); }});
  }
  return cases;
}

/// Runs door(stream, Args) on test values and compares with the plain loop.
template <typename Args>
CaseResult run_broadcast(device::Stream& stream, const BroadcastCase& shape, void (*door)(device::Stream&, const Args&),
                         BroadcastForward reference) {
  const int64_t count = shape.rows * shape.columns;
  const std::vector<float> a = test_values(count, 1);
  const std::vector<float> b = test_values(shape.columns, 2);
  const Args args{upload_values(stream, a), upload_values(stream, b), poisoned(stream, count), count,
                  shape.rows == 1 ? 0 : shape.columns};
  door(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), reference(to_double(a), to_double(b)), allowed_f32(1));
  return result;
}

/// Compares the gradients that were asked for.
inline CaseResult compare_gradients(device::Stream& stream, const BroadcastCase& shape, const device::Buffer& d_a,
                                    const device::Buffer& d_b, const BroadcastGradients& want) {
  CaseResult result;
  if (d_a) compare(result, "d_a", download_values(stream, d_a), want.d_a, allowed_f32(1));
  if (d_b) compare(result, "d_b", download_values(stream, d_b), want.d_b, allowed_f32(shape.rows));
  return result;
}

/// A gradient's operand that holds NaN, or none when it is not wanted.
inline device::Buffer wanted_result(device::Stream& stream, bool wanted, int64_t count) {
  return wanted ? poisoned(stream, count) : device::Buffer();
}

/// Two operands of one shape.
template <typename Args>
KernelBench bench_broadcast(device::Stream& stream, int64_t bytes, void (*door)(device::Stream&, const Args&)) {
  const auto launch = [door](device::Stream& on, const Buffers& in, const Buffers& out, int64_t count) {
    door(on, Args{in[0], in[1], out[0], count});
  };
  return bench_elementwise(stream, bytes, launch, 2, 1, 1);
}

/// The rows of a benchmark of a gradient: a bias of 1024 values under an activation of `bytes`.
inline constexpr int64_t kBenchColumns = 1024;
inline std::string bench_sizes(int64_t count) {
  return fmt::format("rows {}, columns {}, b one row", count / kBenchColumns, kBenchColumns);
}

}  // namespace athanor::kernels
