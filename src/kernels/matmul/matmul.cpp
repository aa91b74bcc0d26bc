// The doors of the matrix products: checks of shapes, choice of device, and their entries in the table of kernels.
#include "kernels/matmul/matmul.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/matmul/matmul_bench.h"
#include "kernels/matmul/matmul_cases.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/matmul/matmul_units.h"

namespace athanor::kernels {

namespace {

void check_operand(const std::string& kernel, const char* operand, const Buffer& buffer, const Matrix& matrix,
                   DType dtype) {
  const int64_t values = dtype == DType::F16 ? ceil_div(matrix.count(), 2) * 2 : matrix.count();
  check_size(kernel, operand, buffer, values, size_of(dtype));
}

void check_call(const std::string& name, const ProductCall& call) {
  const auto [product, accumulate, dtype] = call.kernel;
  const Extents& size = call.size;
  check(dtype == DType::F32 || dtype == DType::F16, "{}: an operand of type {} was given; pass F32 or F16", name,
        name_of(dtype));
  check(size.rows > 0 && size.columns > 0 && size.sum > 0, "{}: M {}, N {}, K {} were given; each must be at least 1",
        name, is_at(product) ? size.sum : size.rows, size.columns, is_at(product) ? size.rows : size.sum);
  const Matrix x = x_matrix(product, size);
  check_operand(name, is_swiglu(product) ? "gate" : "x", call.x, x, x_type(call.kernel));
  if (is_swiglu(product)) check_operand(name, "up", call.up, x, x_type(call.kernel));
  check_operand(name, is_at(product) ? "b" : "w", call.w, w_matrix(product, size), w_type(call.kernel));
  check_operand(name, "y", call.y, y_matrix(size), DType::F32);
}

}  // namespace

device::KernelCost cost_of(const ProductCall& call) {
  const Product product = call.kernel.product;
  const int64_t x_bytes = matrix_bytes(x_matrix(product, call.size), x_type(call.kernel));
  const int64_t w_bytes = matrix_bytes(w_matrix(product, call.size), w_type(call.kernel));
  const int64_t y_bytes = matrix_bytes(y_matrix(call.size), DType::F32);
  const int64_t bytes =
      (is_swiglu(product) ? 2 : 1) * x_bytes + w_bytes + (call.kernel.accumulate == Accumulate::Yes ? 2 : 1) * y_bytes;
  return {call.size.flops(), static_cast<double>(bytes)};
}

void run_product(Stream& stream, const ProductCall& asked) {
  const std::string name = name_of(asked.kernel);
  check_call(name, asked);
  ProductCall call = asked;
  // The scales are launches of another door, so they come before this one's.
  if (takes_matrix_units(stream, call)) call.scales = measure_scales(stream, call);
  launch(
      stream, name, cost_of(call), [&](auto& cpu) { product_cpu(cpu, call); },
      [&](auto& webgpu) { product_webgpu(webgpu, call, limits_of(webgpu)); });
}

namespace {

ProductCall call_of(Product product, const MatMul& args) {
  return {{product, args.accumulate, args.w_type}, args.x, {}, args.w, args.y, {args.m, args.n, args.k}, args.precision,
          {args.x_scale, nullptr, args.w_scale}};
}

}  // namespace

void matmul(Stream& stream, const MatMul& args) { run_product(stream, call_of(Product::Plain, args)); }

void matmul_t(Stream& stream, const MatMul& args) { run_product(stream, call_of(Product::T, args)); }

void matmul_at(Stream& stream, const MatMulAt& args) {
  run_product(stream, {{Product::At, args.accumulate, args.x_type},
                       args.x,
                       {},
                       args.b,
                       args.y,
                       {args.k, args.n, args.m},
                       args.precision,
                       {args.x_scale, nullptr, args.b_scale}});
}

void matmul_swiglu_a(Stream& stream, const MatMulSwiglu& args) {
  run_product(stream, {{Product::Swiglu, Accumulate::No, args.w_type},
                       args.gate,
                       args.up,
                       args.w,
                       args.y,
                       {args.m, args.n, args.k},
                       args.precision,
                       {args.gate_scale, args.up_scale, args.w_scale}});
}

void matmul_at_swiglu_a(Stream& stream, const MatMulAtSwiglu& args) {
  run_product(stream, {{Product::AtSwiglu, args.accumulate, args.x_type},
                       args.gate,
                       args.up,
                       args.b,
                       args.y,
                       {args.k, args.n, args.m},
                       args.precision,
                       {args.gate_scale, args.up_scale, args.b_scale}});
}

std::vector<KernelInfo> matmul_kernels() {
  std::vector<KernelInfo> table;
  for (const ProductKernel& kernel : product_kernels()) {
    table.push_back({name_of(kernel), formula_of(kernel), matmul_cases(kernel),
                     [kernel](Stream& stream, int64_t bytes) { return matmul_bench(stream, kernel, bytes); }});
    table.back().rounded_bench = [kernel](Stream& stream, int64_t bytes, MatMulPrecision precision) {
      return matmul_bench(stream, kernel, bytes, precision);
    };
    table.back().tuning = [kernel](Stream& stream, const device::ChoiceSizes& sizes, MatMulPrecision precision,
                                   OperandValues values) {
      return matmul_tuning(stream, kernel, {sizes[0], sizes[1], sizes[2]}, precision, values);
    };
  }
  return table;
}

}  // namespace athanor::kernels
