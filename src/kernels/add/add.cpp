// The doors of add, sub, their gradients and gradient_accumulate: checks of sizes, choice of device, and their entries in the table
// of kernels.
#include "kernels/add/add.h"

#include "kernels/add/add_internal.h"
#include "kernels/add/add_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

namespace {

RowShape check_operands(std::string_view kernel, const Add& args) {
  const RowShape shape = row_shape(kernel, args.count, args.columns);
  check_size(kernel, "a", args.a, args.count);
  check_size(kernel, "b", args.b, shape.columns);
  check_size(kernel, "out", args.out, args.count);
  return shape;
}

device::KernelCost cost_of(const Add& args, const RowShape& shape) {
  return {1.0 * args.count, 8.0 * args.count + 4.0 * shape.columns};
}

void run_backward(Stream& stream, const char* kernel, const AddBackward& args, float sign) {
  RowShape shape = row_shape(kernel, args.count, args.columns);
  check_size(kernel, "d_out", args.d_out, args.count);
  if (args.d_a) check_size(kernel, "d_a", args.d_a, args.count);
  if (args.d_b) check_size(kernel, "d_b", args.d_b, shape.columns);
  if (args.count == 0 && args.d_b && args.columns > 0) stream.fill_zero(args.d_b);
  if (args.count == 0 || (!args.d_a && !args.d_b)) return;
  if (!args.d_b) shape = {1, args.count};  // no sum over rows: all of them are one
  const double written = (args.d_a ? args.count : 0) + (args.d_b ? shape.columns : 0);
  const device::KernelCost cost{1.0 * args.count, 4.0 * args.count + 4.0 * written};
  launch(
      stream, kernel, cost, [&](auto& cpu) { add_backward_cpu(cpu, args, shape, sign); },
      [&](auto& webgpu) { add_backward_webgpu(webgpu, kernel, args, shape, sign, cost); });
}

}  // namespace

void add(Stream& stream, const Add& args) {
  const RowShape shape = check_operands("add", args);
  if (args.count == 0) return;
  const device::KernelCost cost = cost_of(args, shape);
  launch(
      stream, "add", cost, [&](auto& cpu) { add_cpu(cpu, args, shape); },
      [&](auto& webgpu) { add_webgpu(webgpu, args, shape, cost); });
}

void sub(Stream& stream, const Sub& args) {
  const RowShape shape = check_operands("sub", args);
  if (args.count == 0) return;
  const device::KernelCost cost = cost_of(args, shape);
  launch(
      stream, "sub", cost, [&](auto& cpu) { sub_cpu(cpu, args, shape); },
      [&](auto& webgpu) { sub_webgpu(webgpu, args, shape, cost); });
}

void add_backward(Stream& stream, const AddBackward& args) { run_backward(stream, "add_backward", args, 1); }
void sub_backward(Stream& stream, const SubBackward& args) { run_backward(stream, "sub_backward", args, -1); }

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
      {"add", "a + b; b may be a vector for each row", add_cases(), bench_add},
      {"add_backward", "gradients of add for a and b", add_backward_cases(), bench_add_backward},
      {"sub", "a - b; b may be a vector for each row", sub_cases(), bench_sub},
      {"sub_backward", "gradients of sub for a and b", sub_backward_cases(), bench_sub_backward},
      {"gradient_accumulate", "into += from", gradient_accumulate_cases(), bench_gradient_accumulate},
  };
}

}  // namespace athanor::kernels
