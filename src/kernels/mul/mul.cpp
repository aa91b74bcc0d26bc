// The doors of mul: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/mul/mul.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/mul/mul_internal.h"
#include "kernels/mul/mul_reference.h"

namespace athanor::kernels {

void mul(Stream& stream, const Mul& args) {
  const RowShape shape = row_shape("mul", args.count, args.columns);
  check_size("mul", "a", args.a, args.count);
  check_size("mul", "b", args.b, shape.columns);
  check_size("mul", "out", args.out, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{1.0 * args.count, 8.0 * args.count + 4.0 * shape.columns};
  launch(
      stream, "mul", cost, [&](auto& cpu) { mul_cpu(cpu, args, shape); },
      [&](auto& webgpu) { mul_webgpu(webgpu, args, shape, cost); });
}

void mul_backward(Stream& stream, const MulBackward& args) {
  const RowShape shape = row_shape("mul_backward", args.count, args.columns);
  check_size("mul_backward", "d_out", args.d_out, args.count);
  check_size("mul_backward", "a", args.a, args.count);
  check_size("mul_backward", "b", args.b, shape.columns);
  if (args.d_a) check_size("mul_backward", "d_a", args.d_a, args.count);
  if (args.d_b) check_size("mul_backward", "d_b", args.d_b, shape.columns);
  if (args.count == 0 && args.d_b && args.columns > 0) stream.fill_zero(args.d_b);
  if (args.count == 0 || (!args.d_a && !args.d_b)) return;
  // d_out once; for d_a read b and write d_a; for d_b read a and write d_b.
  double values = args.count;
  if (args.d_a) values += args.count + shape.columns;
  if (args.d_b) values += args.count + shape.columns;
  const device::KernelCost cost{3.0 * args.count, 4.0 * values};
  launch(
      stream, "mul_backward", cost, [&](auto& cpu) { mul_backward_cpu(cpu, args, shape); },
      [&](auto& webgpu) { mul_backward_webgpu(webgpu, args, shape, cost); });
}

std::vector<KernelInfo> mul_kernels() {
  return {
      {"mul", "a * b; b may be a vector for each row", mul_cases(), bench_mul},
      {"mul_backward", "gradients of mul for a and b", mul_backward_cases(), bench_mul_backward},
  };
}

}  // namespace athanor::kernels
