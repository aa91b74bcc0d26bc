// The door of rope: checks of shapes, choice of device, the table of angles, and its entry in the table of kernels.
#include "kernels/rope/rope.h"

#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/rope/rope_internal.h"
#include "kernels/rope/rope_reference.h"

#include <cmath>

namespace athanor::kernels {

namespace {

void check_rope(std::string_view kernel, const Rope& args) {
  check(args.head_dim > 0 && args.head_dim % 2 == 0,
        "{}: heads of {} values cannot be rotated in pairs; use an even head width", kernel, args.head_dim);
  check(args.length > 0 && args.first_position >= 0,
        "{}: a length of {} from position {}; pass at least 1, from 0 or later", kernel, args.length,
        args.first_position);
  const int64_t count = args.rows * args.heads * args.head_dim;
  check_size(kernel, "x", args.x, count);
  check_size(kernel, "out", args.out, count);
  check(static_cast<bool>(args.table),
        "{}: the table of angles is missing; upload rope_table(positions, head_dim, theta)", kernel);
  const int64_t row_bytes = args.head_dim * 4;
  check(args.table.size_bytes() % row_bytes == 0,
        "{}: the table has {} bytes, not rows of {} values; make it for this head width", kernel,
        args.table.size_bytes(), args.head_dim);
  const int64_t positions = args.table.size_bytes() / row_bytes;
  const int64_t needed = args.first_position + std::min(args.length, args.rows);
  check(needed <= positions, "{}: position {} is asked for but the table has {}; make a longer table", kernel,
        needed - 1, positions);
}

device::KernelCost cost_of(const Rope& args) {
  const double count = static_cast<double>(args.rows * args.heads * args.head_dim);
  return {3 * count, 8 * count};
}

void run(Stream& stream, std::string_view kernel, const Rope& args, float sign) {
  check_rope(kernel, args);
  if (args.rows * args.heads == 0) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, kernel, cost, [&](auto& cpu) { rope_cpu(cpu, args, sign); },
      [&](auto& webgpu) { rope_webgpu(webgpu, kernel, args, sign, cost); });
}

constexpr int64_t kBenchHeads = 16;
constexpr int64_t kBenchHeadDim = 64;
constexpr int64_t kBenchLength = 1024;

MakeBench bench_of(void (*launch_one)(Stream&, const Rope&)) {
  return [launch_one](Stream& stream, int64_t bytes) {
    const int64_t rows = bytes / 4 / kBenchHeads / kBenchHeadDim;
    const Rope args{bench_values(stream, bytes / 4, 1),
                    upload_values(stream, rope_table(kBenchLength, kBenchHeadDim, 10000)),
                    stream.device().allocate(bytes, "bench out"),
                    rows,
                    kBenchHeads,
                    kBenchHeadDim,
                    kBenchLength,
                    0};
    return KernelBench{fmt::format("rows {}, heads {}, head width {}", rows, args.heads, args.head_dim), cost_of(args),
                       [&stream, args, launch_one] { launch_one(stream, args); }};
  };
}

}  // namespace

void rope(Stream& stream, const Rope& args) { run(stream, "rope", args, 1.0F); }

void rope_backward(Stream& stream, const Rope& args) { run(stream, "rope_backward", args, -1.0F); }

std::vector<float> rope_table(int64_t positions, int64_t head_dim, double theta) {
  check(positions > 0 && head_dim > 0 && head_dim % 2 == 0 && theta > 0,
        "rope_table: {} positions, head width {}, theta {}; pass a positive number of positions, an even width and a "
        "positive theta",
        positions, head_dim, theta);
  const int64_t half = head_dim / 2;
  std::vector<float> table(static_cast<size_t>(positions * head_dim));
  for (int64_t i = 0; i < half; ++i) {
    // Three roundings to f32, as in base ** (arange(0, dim, 2).float() / dim) and its reciprocal.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    const float power = static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
    const float inverse_frequency = 1.0F / power;
    for (int64_t position = 0; position < positions; ++position) {
      const double angle = static_cast<double>(position) * static_cast<double>(inverse_frequency);
      float* row = table.data() + position * head_dim;
      row[i] = static_cast<float>(std::cos(angle));
      row[half + i] = static_cast<float>(std::sin(angle));
    }
  }
  return table;
}

std::vector<KernelInfo> rope_kernels() {
  return {
      {"rope", "rotation of the halves of each head by the angle of its position", rope_cases(), bench_of(rope)},
      {"rope_backward", "gradient of rope: rotation by the negative angle", rope_backward_cases(),
       bench_of(rope_backward)},
  };
}

}  // namespace athanor::kernels
