// The doors of add and gradient_accumulate: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/add/add.h"

#include "kernels/add/add_internal.h"
#include "kernels/add/add_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void add(Stream& stream, const Add& args) {
  check_size("add", "a", args.a, args.count);
  check_size("add", "b", args.b, args.count);
  check_size("add", "out", args.out, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{1.0 * args.count, 12.0 * args.count};
  launch(
      stream, "add", cost, [&](auto& cpu) { add_cpu(cpu, args); },
      [&](auto& webgpu) { add_webgpu(webgpu, args, cost); });
}

void gradient_accumulate(Stream& stream, const AddInto& args) {
  check_size("gradient_accumulate", "from", args.from, args.count);
  check_size("gradient_accumulate", "into", args.into, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{1.0 * args.count, 12.0 * args.count};
  launch(
      stream, "gradient_accumulate", cost, [&](auto& cpu) { gradient_accumulate_cpu(cpu, args); },
      [&](auto& webgpu) { gradient_accumulate_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> add_kernels() {
  return {
      {"add", "a + b", add_cases()},
      {"gradient_accumulate", "into += from", gradient_accumulate_cases()},
  };
}

}  // namespace athanor::kernels
