// Products with weights.
#include "kernels/matmul/matmul.h"
#include "kernels/silu_gate/silu_gate.h"
#include "tensor/op_parts.h"
#include "tensor/ops.h"
#include "tensor/product_weight.h"

namespace athanor::tensor {

namespace {

/// The shape of x with its last extent replaced.
Shape with_last(const Shape& shape, int64_t last) {
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents.back() = last;
  return Shape(extents);
}

void check_matrix(const char* op, const char* name, const Tensor& w) {
  check_values(op, name, w);
  check(w.shape().rank() == 2, "{}: {} has shape {}; pass a matrix", op, name, w.shape().to_string());
}

}  // namespace

Tensor matmul(const Context& context, const Tensor& x, const Tensor& w) {
  check_values("matmul", "x", x);
  check_matrix("matmul", "w", w);
  const int64_t k = w.shape()[0];
  const int64_t n = w.shape()[1];
  check(x.shape().last() == k, "matmul: x has rows of {} values but w is {}; pass rows of {}", x.shape().last(),
        w.shape().to_string(), k);
  const int64_t m = x.shape().num_rows();
  Tensor y = empty(context.stream, with_last(x.shape(), n), "matmul");
  const kernels::MatMulPrecision precision = context.matmul_precision;
  const ProductWeight read = product_weight(w);
  kernels::matmul(context.stream, {x.buffer(), read.buffer, y.buffer(), m, n, k, Accumulate::No, read.type, precision,
                                   x.kept_scale(), w.kept_scale()});
  if (is_recorded(context, {&x, &w})) {
    y.set_needs_gradient(true);
    context.tape->record(y, [x, w, y, m, n, k, precision](Stream& stream) {
      Buffer d_scale;  // of y's gradient, for both products
      if (w.needs_gradient()) {
        const Tensor::GradientSlot slot = w.gradient_slot(stream);
        kernels::matmul_at(stream, {x.buffer(), y.gradient(), slot.buffer, k, n, m, slot.accumulate, DType::F32,
                                    precision, x.kept_scale(), &d_scale});
      }
      if (x.needs_gradient()) {
        const Tensor::GradientSlot slot = x.gradient_slot(stream);
        const ProductWeight read = product_weight(w);
        kernels::matmul_t(stream, {y.gradient(), read.buffer, slot.buffer, m, k, n, slot.accumulate, read.type,
                                   precision, &d_scale, w.kept_scale()});
      }
    });
  }
  return y;
}

Tensor matmul_t(const Context& context, const Tensor& x, const Tensor& w) {
  check_values("matmul_t", "x", x);
  check_matrix("matmul_t", "w", w);
  const int64_t n = w.shape()[0];
  const int64_t k = w.shape()[1];
  check(x.shape().last() == k, "matmul_t: x has rows of {} values but w is {}; pass rows of {}", x.shape().last(),
        w.shape().to_string(), k);
  const int64_t m = x.shape().num_rows();
  Tensor y = empty(context.stream, with_last(x.shape(), n), "matmul_t");
  const kernels::MatMulPrecision precision = context.matmul_precision;
  const ProductWeight read = product_weight(w);
  kernels::matmul_t(context.stream, {x.buffer(), read.buffer, y.buffer(), m, n, k, Accumulate::No, read.type, precision,
                                     x.kept_scale(), w.kept_scale()});
  if (is_recorded(context, {&x, &w})) {
    y.set_needs_gradient(true);
    context.tape->record(y, [x, w, y, m, n, k, precision](Stream& stream) {
      Buffer d_scale;  // of y's gradient, for both products
      if (w.needs_gradient()) {
        const Tensor::GradientSlot slot = w.gradient_slot(stream);
        kernels::matmul_at(stream, {y.gradient(), x.buffer(), slot.buffer, n, k, m, slot.accumulate, DType::F32,
                                    precision, &d_scale, x.kept_scale()});
      }
      if (x.needs_gradient()) {
        const Tensor::GradientSlot slot = x.gradient_slot(stream);
        const ProductWeight read = product_weight(w);
        kernels::matmul(stream, {y.gradient(), read.buffer, slot.buffer, m, k, n, slot.accumulate, read.type, precision,
                                 &d_scale, w.kept_scale()});
      }
    });
  }
  return y;
}

Tensor swiglu_matmul(const Context& context, const Tensor& gate, const Tensor& up, const Tensor& w) {
  check_matrix("swiglu_matmul", "w", w);
  check_one_shape("swiglu_matmul", "gate", gate, "up", up);
  const int64_t k = w.shape()[0];
  const int64_t n = w.shape()[1];
  check(gate.shape().last() == k, "swiglu_matmul: gate has rows of {} values but w is {}; pass rows of {}",
        gate.shape().last(), w.shape().to_string(), k);
  const int64_t m = gate.shape().num_rows();
  Tensor y = empty(context.stream, with_last(gate.shape(), n), "swiglu_matmul");
  const kernels::MatMulPrecision precision = context.matmul_precision;
  const ProductWeight read = product_weight(w);
  kernels::matmul_swiglu_a(context.stream, {gate.buffer(), up.buffer(), read.buffer, y.buffer(), m, n, k, read.type,
                                            precision, gate.kept_scale(), up.kept_scale(), w.kept_scale()});
  if (is_recorded(context, {&gate, &up, &w})) {
    y.set_needs_gradient(true);
    context.tape->record(y, [gate, up, w, y, m, n, k, precision](Stream& stream) {
      Buffer d_scale;  // of y's gradient, for both products
      if (w.needs_gradient()) {
        const Tensor::GradientSlot slot = w.gradient_slot(stream);
        kernels::matmul_at_swiglu_a(
            stream, {gate.buffer(), up.buffer(), y.gradient(), slot.buffer, k, n, m, slot.accumulate, DType::F32,
                     precision, gate.kept_scale(), up.kept_scale(), &d_scale});
      }
      if (gate.needs_gradient() || up.needs_gradient()) {
        const Tensor d_hidden = empty(stream, gate.shape(), "d_hidden");
        const Tensor d_gate = empty(stream, gate.shape(), "d_gate");
        const Tensor d_up = empty(stream, gate.shape(), "d_up");
        const ProductWeight read = product_weight(w);
        kernels::matmul_t(stream, {y.gradient(), read.buffer, d_hidden.buffer(), m, k, n, Accumulate::No, read.type,
                                   precision, &d_scale, w.kept_scale()});
        kernels::silu_gate_backward(
            stream, {d_hidden.buffer(), gate.buffer(), up.buffer(), d_gate.buffer(), d_up.buffer(), m * k});
        if (gate.needs_gradient()) gate.add_gradient(stream, d_gate.buffer());
        if (up.needs_gradient()) up.add_gradient(stream, d_up.buffer());
      }
    });
  }
  return y;
}

}  // namespace athanor::tensor
