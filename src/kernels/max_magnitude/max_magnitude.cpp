// The door of max_magnitude: checks of sizes, choice of device, and its entry in the table of kernels.
#include "kernels/max_magnitude/max_magnitude.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/max_magnitude/max_magnitude_internal.h"
#include "kernels/max_magnitude/max_magnitude_reference.h"

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(int64_t count) { return {static_cast<double>(count), 4.0 * static_cast<double>(count)}; }

KernelBench max_magnitude_bench(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  MaxMagnitude args{stream.device().allocate(bytes, "max_magnitude values"),
                    stream.device().allocate(8, "max_magnitude scale"), count};
  stream.fill_zero(args.values);
  return {fmt::format("{} values", count), cost_of(count), [&stream, args] { max_magnitude(stream, args); }};
}

}  // namespace

void max_magnitude(Stream& stream, const MaxMagnitude& args) {
  check(args.count > 0, "max_magnitude: {} values were given; pass at least 1", args.count);
  check_size("max_magnitude", "values", args.values, args.count);
  check_size("max_magnitude", "scale", args.scale, 2);
  const device::KernelCost cost = cost_of(args.count);
  launch(
      stream, "max_magnitude", cost, [&](auto& cpu) { max_magnitude_cpu(cpu, args); },
      [&](auto& webgpu) { max_magnitude_webgpu(webgpu, args, cost, webgpu.limits().max_binding_bytes); });
}

std::vector<KernelInfo> max_magnitude_kernels() {
  return {{"max_magnitude", "power of two that puts the largest magnitude near 2^14", max_magnitude_cases(),
           max_magnitude_bench}};
}

}  // namespace athanor::kernels
