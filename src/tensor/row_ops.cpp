// Ops on rows of activations: softmax, norms, position, embedding.
#include "kernels/embedding/embedding.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rms_norm_residual/rms_norm_residual.h"
#include "kernels/rope/rope.h"
#include "kernels/softmax/softmax.h"
#include "tensor/op_parts.h"
#include "tensor/ops.h"

namespace athanor::tensor {

namespace {

/// What both norms check.
void check_norm(const char* op, const Tensor& x, const Tensor& weight) {
  check_values(op, "x", x);
  check_values(op, "weight", weight);
  const int64_t columns = x.shape().last();
  check(weight.num_elements() == columns, "{}: weight has {} values but x has rows of {}; pass a weight of {} values",
        op, weight.num_elements(), columns, columns);
}

/// The gradient of a norm at y: d_x is empty when nobody needs it. A gradient d_y that reaches y by another way is added to d_x in the
/// same pass.
void norm_backward(Stream& stream, const Buffer& d_out, const Buffer& d_y, const Tensor& y, const Tensor& weight,
                   const Buffer& d_x, float eps, float weight_offset) {
  const int64_t rows = y.shape().num_rows();
  const int64_t columns = y.shape().last();
  Tensor::GradientSlot slot;
  if (weight.needs_gradient()) slot = weight.gradient_slot(stream);
  const bool accumulates = slot.accumulate == Accumulate::Yes;
  if (d_y && d_x) {
    kernels::rms_norm_residual_backward(stream, {d_out, d_y, y.buffer(), weight.buffer(), d_x, slot.buffer, rows,
                                                 columns, eps, weight_offset, accumulates});
  } else {
    kernels::rms_norm_backward(
        stream, {d_out, y.buffer(), weight.buffer(), d_x, slot.buffer, rows, columns, eps, weight_offset, accumulates});
  }
}

}  // namespace

Tensor softmax(const Context& context, const Tensor& x) {
  check_values("softmax", "x", x);
  const int64_t rows = x.shape().num_rows();
  const int64_t columns = x.shape().last();
  Tensor out = empty(context.stream, x.shape(), "softmax");
  kernels::softmax(context.stream, {x.buffer(), out.buffer(), rows, columns});
  if (is_recorded(context, {&x})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [x, out, rows, columns](Stream& stream) {
      const Contribution d_x(stream, x, "softmax d_x");
      kernels::softmax_backward(stream, {out.gradient(), out.buffer(), d_x.buffer(), rows, columns});
      d_x.finish(stream);
    });
  }
  return out;
}

Tensor rms_norm(const Context& context, const Tensor& x, const Tensor& weight, float eps, float weight_offset) {
  check_norm("rms_norm", x, weight);
  const int64_t rows = x.shape().num_rows();
  Tensor out = empty(context.stream, x.shape(), "rms_norm");
  kernels::rms_norm(context.stream,
                    {x.buffer(), weight.buffer(), out.buffer(), rows, x.shape().last(), eps, weight_offset});
  if (is_recorded(context, {&x, &weight})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [x, weight, out, eps, weight_offset](Stream& stream) {
      Buffer d_x;
      const Buffer d_y = x.gradient();
      if (x.needs_gradient()) d_x = stream.device().allocate(x.buffer().size_bytes(), "rms_norm d_x");
      norm_backward(stream, out.gradient(), d_y, x, weight, d_x, eps, weight_offset);
      if (!d_x) return;
      if (d_y) {
        x.replace_gradient(stream, d_x);
      } else {
        x.add_gradient(stream, d_x);
      }
    });
  }
  return out;
}

ResidualNorm rms_norm_residual(const Context& context, const Tensor& x, const Tensor& residual, const Tensor& weight,
                               float eps, float weight_offset) {
  check_one_shape("rms_norm_residual", "x", x, "residual", residual);
  check_norm("rms_norm_residual", x, weight);
  ResidualNorm result{empty(context.stream, x.shape(), "rms_norm_residual"),
                      empty(context.stream, x.shape(), "residual sum")};
  kernels::rms_norm_residual(context.stream,
                             {x.buffer(), residual.buffer(), weight.buffer(), result.y.buffer(), result.out.buffer(),
                              x.shape().num_rows(), x.shape().last(), eps, weight_offset});
  if (is_recorded(context, {&x, &residual, &weight})) {
    result.out.set_needs_gradient(true);
    result.y.set_needs_gradient(x.needs_gradient() || residual.needs_gradient());
    context.tape->record({result.out, result.y}, [=](Stream& stream) {
      Buffer d_y = result.y.gradient();
      if (result.out.gradient()) {
        const Buffer d_x = result.y.needs_gradient()
                               ? stream.device().allocate(x.buffer().size_bytes(), "rms_norm_residual d_x")
                               : Buffer();
        norm_backward(stream, result.out.gradient(), d_y, result.y, weight, d_x, eps, weight_offset);
        d_y = d_x;
      }
      if (x.needs_gradient()) x.add_gradient(stream, d_y);
      if (residual.needs_gradient()) residual.add_gradient(stream, d_y);
    });
  }
  return result;
}

Tensor rope(const Context& context, const Tensor& x, const Tensor& table, int64_t heads, int64_t length,
            int64_t first_position) {
  check_values("rope", "x", x);
  check_values("rope", "table", table);
  const int64_t head_dim = table.shape().last();
  check(x.shape().last() == heads * head_dim, "rope: x has rows of {} values but {} heads of {} make {}",
        x.shape().last(), heads, head_dim, heads * head_dim);
  check(first_position >= 0 && first_position + length <= table.shape()[0],
        "rope: positions {} to {} are asked for but the table has {}; make a longer table or a shorter context",
        first_position, first_position + length - 1, table.shape()[0]);
  Tensor out = empty(context.stream, x.shape(), "rope");
  const int64_t rows = x.shape().num_rows();
  kernels::rope(context.stream,
                {x.buffer(), table.buffer(), out.buffer(), rows, heads, head_dim, length, first_position});
  if (is_recorded(context, {&x})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [x, table, out, rows, heads, head_dim, length, first_position](Stream& stream) {
      const Contribution d_x(stream, x, "rope d_x");
      kernels::rope_backward(
          stream, {out.gradient(), table.buffer(), d_x.buffer(), rows, heads, head_dim, length, first_position});
      d_x.finish(stream);
    });
  }
  return out;
}

TokenIds upload_token_ids(const Context& context, std::span<const uint32_t> ids, int64_t vocabulary) {
  const std::vector<uint32_t> order = kernels::embedding_order(ids, vocabulary);
  TokenIds uploaded{from_ids(context.stream, ids, "token ids"), {}};
  if (context.tape != nullptr) uploaded.order = from_ids(context.stream, order, "token order");
  return uploaded;
}

Tensor embedding(const Context& context, const Tensor& table, const TokenIds& ids) {
  check_values("embedding", "table", table);
  check(table.shape().rank() == 2, "embedding: the table has shape {}; pass a matrix (V, C)",
        table.shape().to_string());
  check(ids.ids && ids.ids.dtype() == DType::U32, "embedding: ids are missing; take them from upload_token_ids");
  const int64_t vocabulary = table.shape()[0];
  const int64_t columns = table.shape()[1];
  const int64_t rows = ids.ids.num_elements();
  Tensor out = empty(context.stream, Shape{rows, columns}, "embedding");
  kernels::embedding(context.stream, {table.buffer(), ids.ids.buffer(), out.buffer(), rows, columns, vocabulary});
  if (is_recorded(context, {&table})) {
    check(static_cast<bool>(ids.order),
          "embedding: the ids were uploaded without a tape; upload them with the step's context");
    out.set_needs_gradient(true);
    context.tape->record(out, [table, ids, out, rows, columns, vocabulary](Stream& stream) {
      const Tensor::GradientSlot slot = table.gradient_slot(stream);
      kernels::embedding_backward(
          stream, {out.gradient(), ids.order.buffer(), slot.buffer, rows, columns, vocabulary, slot.accumulate});
    });
  }
  return out;
}

}  // namespace athanor::tensor
