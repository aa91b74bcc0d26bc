// Attention over whole sequences.
#include "kernels/attention/attention.h"
#include "tensor/op_parts.h"
#include "tensor/ops.h"

#include <cmath>

namespace athanor::tensor {

Tensor attention(const Context& context, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionShape& shape) {
  check(shape.heads > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
        "attention: {} heads cannot share {} key/value heads; the second must divide the first", shape.heads,
        shape.kv_heads);
  check_values("attention", "q", q);
  check_values("attention", "k", k);
  check_values("attention", "v", v);
  const int64_t head_dim = q.shape().last() / shape.heads;
  check(q.num_elements() == shape.batch * shape.length * shape.heads * head_dim &&
            k.num_elements() == shape.batch * shape.length * shape.kv_heads * head_dim && k.shape() == v.shape(),
        "attention: q {}, k {}, v {} do not fit batch {}, length {}, {} heads on {} key/value heads",
        q.shape().to_string(), k.shape().to_string(), v.shape().to_string(), shape.batch, shape.length, shape.heads,
        shape.kv_heads);
  check(!shape.first_key || shape.first_key.dtype() == DType::U32,
        "attention: first_key holds {} but positions are U32; make it with from_ids",
        name_of(shape.first_key ? shape.first_key.dtype() : DType::U32));
  const Buffer first_key = shape.first_key ? shape.first_key.buffer() : Buffer();
  const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
  Tensor out = empty(context.stream, q.shape(), "attention");
  const Tensor log_sum_exp =
      empty(context.stream, Shape{shape.batch * shape.length, shape.heads}, "attention log-sum-exp");
  const kernels::MatMulPrecision precision = context.matmul_precision;
  kernels::attention(context.stream, {q.buffer(),
                                      k.buffer(),
                                      v.buffer(),
                                      out.buffer(),
                                      log_sum_exp.buffer(),
                                      shape.batch,
                                      shape.length,
                                      shape.heads,
                                      shape.kv_heads,
                                      head_dim,
                                      scale,
                                      shape.window,
                                      shape.soft_cap,
                                      first_key,
                                      precision,
                                      {q.kept_scale(), k.kept_scale(), v.kept_scale()}});
  if (is_recorded(context, {&q, &k, &v})) {
    out.set_needs_gradient(true);
    context.tape->record(
        out, [q, k, v, out, log_sum_exp, shape, head_dim, scale, first_key, precision](Stream& stream) {
          const Contribution d_q(stream, q, "attention d_q");
          const Contribution d_k(stream, k, "attention d_k");
          const Contribution d_v(stream, v, "attention d_v");
          // The kernel writes all three; what nobody needs is dropped.
          const auto or_dropped = [&](const Contribution& wanted, const Tensor& of) {
            return wanted.buffer() ? wanted.buffer() : stream.device().allocate(of.buffer().size_bytes(), "attention");
          };
          kernels::attention_backward(stream, {out.gradient(),
                                               q.buffer(),
                                               k.buffer(),
                                               v.buffer(),
                                               out.buffer(),
                                               log_sum_exp.buffer(),
                                               or_dropped(d_q, q),
                                               or_dropped(d_k, k),
                                               or_dropped(d_v, v),
                                               shape.batch,
                                               shape.length,
                                               shape.heads,
                                               shape.kv_heads,
                                               head_dim,
                                               scale,
                                               shape.window,
                                               shape.soft_cap,
                                               first_key,
                                               precision,
                                               {q.kept_scale(), k.kept_scale(), v.kept_scale()}});
          d_q.finish(stream);
          d_k.finish(stream);
          d_v.finish(stream);
        });
  }
  return out;
}

}  // namespace athanor::tensor
