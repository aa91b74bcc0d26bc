// Ops on rows of activations: add, norm, position, attention, embedding.
#include "kernels/add/add.h"
#include "kernels/attention/attention.h"
#include "kernels/embedding/embedding.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rope/rope.h"
#include "tensor/ops.h"

#include <cmath>

namespace athanor::tensor {

Tensor add(const Context& context, const Tensor& a, const Tensor& b) {
  check(a.shape() == b.shape(), "add: a is {} but b is {}; pass two of one shape", a.shape().to_string(),
        b.shape().to_string());
  Tensor out = empty(context.stream, a.shape(), "add");
  kernels::add(context.stream, {a.buffer(), b.buffer(), out.buffer(), a.num_elements()});
  if (is_recorded(context, {&a, &b})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [a, b, out](Stream& stream) {
      if (a.needs_gradient()) a.add_gradient(stream, out.gradient());
      if (b.needs_gradient()) b.add_gradient(stream, out.gradient());
    });
  }
  return out;
}

Tensor rms_norm(const Context& context, const Tensor& x, const Tensor& weight, float eps) {
  const int64_t columns = x.shape().last();
  check(weight.num_elements() == columns,
        "rms_norm: weight has {} values but x has rows of {}; pass a weight of {} values", weight.num_elements(),
        columns, columns);
  const int64_t rows = x.shape().num_rows();
  Tensor out = empty(context.stream, x.shape(), "rms_norm");
  kernels::rms_norm(context.stream, {x.buffer(), weight.buffer(), out.buffer(), rows, columns, eps});
  if (is_recorded(context, {&x, &weight})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [x, weight, out, rows, columns, eps](Stream& stream) {
      kernels::RmsNormBackward args{out.gradient(), x.buffer(), weight.buffer(), {}, {}, rows, columns, eps};
      if (weight.needs_gradient()) {
        const Tensor::GradientSlot slot = weight.gradient_slot(stream);
        args.d_weight = slot.buffer;
        args.accumulate_weight = slot.accumulate == Accumulate::Yes;
      }
      if (x.needs_gradient()) args.d_x = stream.device().allocate(x.buffer().size_bytes(), "rms_norm d_x");
      kernels::rms_norm_backward(stream, args);
      if (args.d_x) x.add_gradient(stream, args.d_x);
    });
  }
  return out;
}

Tensor rope(const Context& context, const Tensor& x, const Tensor& table, int64_t heads, int64_t length,
            int64_t first_position) {
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
      const Tensor d_x = empty(stream, x.shape(), "rope d_x");
      kernels::rope_backward(
          stream, {out.gradient(), table.buffer(), d_x.buffer(), rows, heads, head_dim, length, first_position});
      x.add_gradient(stream, d_x.buffer());
    });
  }
  return out;
}

Tensor attention(const Context& context, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionShape& shape) {
  check(shape.heads > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
        "attention: {} heads cannot share {} key/value heads; the second must divide the first", shape.heads,
        shape.kv_heads);
  const int64_t head_dim = q.shape().last() / shape.heads;
  check(q.num_elements() == shape.batch * shape.length * shape.heads * head_dim &&
            k.num_elements() == shape.batch * shape.length * shape.kv_heads * head_dim && k.shape() == v.shape(),
        "attention: q {}, k {}, v {} do not fit batch {}, length {}, {} heads on {} key/value heads",
        q.shape().to_string(), k.shape().to_string(), v.shape().to_string(), shape.batch, shape.length, shape.heads,
        shape.kv_heads);
  const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
  Tensor out = empty(context.stream, q.shape(), "attention");
  const Tensor log_sum_exp =
      empty(context.stream, Shape{shape.batch * shape.length, shape.heads}, "attention log-sum-exp");
  kernels::attention(context.stream,
                     {q.buffer(), k.buffer(), v.buffer(), out.buffer(), log_sum_exp.buffer(), shape.batch, shape.length,
                      shape.heads, shape.kv_heads, head_dim, scale, 0, 0, shape.first_key});
  if (is_recorded(context, {&q, &k, &v})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [q, k, v, out, log_sum_exp, shape, head_dim, scale](Stream& stream) {
      const Tensor d_q = empty(stream, q.shape(), "attention d_q");
      const Tensor d_k = empty(stream, k.shape(), "attention d_k");
      const Tensor d_v = empty(stream, v.shape(), "attention d_v");
      kernels::attention_backward(
          stream, {out.gradient(), q.buffer(), k.buffer(), v.buffer(), out.buffer(), log_sum_exp.buffer(), d_q.buffer(),
                   d_k.buffer(), d_v.buffer(), shape.batch, shape.length, shape.heads, shape.kv_heads, head_dim, scale,
                   0, 0, shape.first_key});
      if (q.needs_gradient()) q.add_gradient(stream, d_q.buffer());
      if (k.needs_gradient()) k.add_gradient(stream, d_k.buffer());
      if (v.needs_gradient()) v.add_gradient(stream, d_v.buffer());
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
