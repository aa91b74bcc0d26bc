// Ops value by value: sums, differences and products, activations and gates, dropout.
#include "kernels/add/add.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gelu/gelu.h"
#include "kernels/gelu_gate/gelu_gate.h"
#include "kernels/mul/mul.h"
#include "kernels/relu/relu.h"
#include "kernels/silu/silu.h"
#include "kernels/silu_gate/silu_gate.h"
#include "tensor/op_parts.h"
#include "tensor/ops.h"

namespace athanor::tensor {

namespace {

/// The kernels' word for how b meets a: 0 for two of one shape, else the length of the vector that meets each row.
int64_t broadcast_columns(const char* op, const Tensor& a, const Tensor& b) {
  check_values(op, "a", a);
  check_values(op, "b", b);
  if (a.shape() == b.shape()) return 0;
  check(b.shape().rank() == 1 && b.num_elements() == a.shape().last(),
        "{}: a is {} but b is {}; pass two of one shape, or a vector of {} values as b", op, a.shape().to_string(),
        b.shape().to_string(), a.shape().last());
  return a.shape().last();
}

/// One operand: launch(stream, x, out, count), and launch_backward(stream, d_out, x, d_x, count).
template <typename Launch, typename LaunchBackward>
Tensor activation(const Context& context, const char* op, const Tensor& x, Launch launch,
                  LaunchBackward launch_backward) {
  check_values(op, "x", x);
  Tensor out = empty(context.stream, x.shape(), op);
  launch(context.stream, x.buffer(), out.buffer(), x.num_elements());
  if (is_recorded(context, {&x})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [op, x, out, launch_backward](Stream& stream) {
      const Contribution d_x(stream, x, op);
      launch_backward(stream, out.gradient(), x.buffer(), d_x.buffer(), x.num_elements());
      d_x.finish(stream);
    });
  }
  return out;
}

/// An activated operand times another, by a kernel in either of its forms. The backward writes both gradients in one pass; the one that
/// nobody needs is dropped.
template <typename Launch, typename LaunchBackward>
Tensor gated(const Context& context, const char* op, const Tensor& gate, const Tensor& up, Launch launch,
             LaunchBackward launch_backward) {
  check_one_shape(op, "gate", gate, "up", up);
  Tensor out = empty(context.stream, gate.shape(), op);
  launch(context.stream, gate.buffer(), up.buffer(), out.buffer(), out.num_elements());
  if (is_recorded(context, {&gate, &up})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [op, gate, up, out, launch_backward](Stream& stream) {
      const Contribution d_gate(stream, gate, op);
      const Contribution d_up(stream, up, op);
      const auto or_dropped = [&](const Contribution& wanted) {
        return wanted.buffer() ? wanted.buffer() : stream.device().allocate(out.buffer().size_bytes(), op);
      };
      launch_backward(stream, out.gradient(), gate.buffer(), up.buffer(), or_dropped(d_gate), or_dropped(d_up),
                      out.num_elements());
      d_gate.finish(stream);
      d_up.finish(stream);
    });
  }
  return out;
}

}  // namespace

Tensor add(const Context& context, const Tensor& a, const Tensor& b) {
  const int64_t columns = broadcast_columns("add", a, b);
  Tensor out = empty(context.stream, a.shape(), "add");
  kernels::add(context.stream, {a.buffer(), b.buffer(), out.buffer(), a.num_elements(), columns});
  if (is_recorded(context, {&a, &b})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [a, b, out, columns](Stream& stream) {
      if (a.needs_gradient()) a.add_gradient(stream, out.gradient());
      if (!b.needs_gradient()) return;
      if (columns == 0) {
        b.add_gradient(stream, out.gradient());
        return;
      }
      const Contribution d_b(stream, b, "add d_b");
      kernels::add_backward(stream, {out.gradient(), {}, d_b.buffer(), out.num_elements(), columns});
      d_b.finish(stream);
    });
  }
  return out;
}

Tensor sub(const Context& context, const Tensor& a, const Tensor& b) {
  const int64_t columns = broadcast_columns("sub", a, b);
  Tensor out = empty(context.stream, a.shape(), "sub");
  kernels::sub(context.stream, {a.buffer(), b.buffer(), out.buffer(), a.num_elements(), columns});
  if (is_recorded(context, {&a, &b})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [a, b, out, columns](Stream& stream) {
      if (a.needs_gradient()) a.add_gradient(stream, out.gradient());
      if (!b.needs_gradient()) return;
      const Contribution d_b(stream, b, "sub d_b");
      kernels::sub_backward(stream, {out.gradient(), {}, d_b.buffer(), out.num_elements(), columns});
      d_b.finish(stream);
    });
  }
  return out;
}

Tensor mul(const Context& context, const Tensor& a, const Tensor& b) {
  const int64_t columns = broadcast_columns("mul", a, b);
  Tensor out = empty(context.stream, a.shape(), "mul");
  kernels::mul(context.stream, {a.buffer(), b.buffer(), out.buffer(), a.num_elements(), columns});
  if (is_recorded(context, {&a, &b})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [a, b, out, columns](Stream& stream) {
      const Contribution d_a(stream, a, "mul d_a");
      const Contribution d_b(stream, b, "mul d_b");
      kernels::mul_backward(
          stream, {out.gradient(), a.buffer(), b.buffer(), d_a.buffer(), d_b.buffer(), out.num_elements(), columns});
      d_a.finish(stream);
      d_b.finish(stream);
    });
  }
  return out;
}

Tensor relu(const Context& context, const Tensor& x) {
  return activation(
      context, "relu", x,
      [](Stream& stream, const Buffer& in, const Buffer& out, int64_t count) {
        kernels::relu(stream, {in, out, count});
      },
      [](Stream& stream, const Buffer& d_out, const Buffer& in, const Buffer& d_x, int64_t count) {
        kernels::relu_backward(stream, {d_out, in, d_x, count});
      });
}

Tensor silu(const Context& context, const Tensor& x) {
  return activation(
      context, "silu", x,
      [](Stream& stream, const Buffer& in, const Buffer& out, int64_t count) {
        kernels::silu(stream, {in, out, count});
      },
      [](Stream& stream, const Buffer& d_out, const Buffer& in, const Buffer& d_x, int64_t count) {
        kernels::silu_backward(stream, {d_out, in, d_x, count});
      });
}

Tensor gelu(const Context& context, const Tensor& x, GeluForm form) {
  return activation(
      context, "gelu", x,
      [form](Stream& stream, const Buffer& in, const Buffer& out, int64_t count) {
        kernels::gelu(stream, {in, out, count, form});
      },
      [form](Stream& stream, const Buffer& d_out, const Buffer& in, const Buffer& d_x, int64_t count) {
        kernels::gelu_backward(stream, {d_out, in, d_x, count, form});
      });
}

Tensor silu_gate(const Context& context, const Tensor& gate, const Tensor& up) {
  return gated(
      context, "silu_gate", gate, up,
      [](Stream& stream, const Buffer& g, const Buffer& u, const Buffer& out, int64_t count) {
        kernels::silu_gate(stream, {g, u, out, count});
      },
      [](Stream& stream, const Buffer& d_out, const Buffer& g, const Buffer& u, const Buffer& d_g, const Buffer& d_u,
         int64_t count) { kernels::silu_gate_backward(stream, {d_out, g, u, d_g, d_u, count}); });
}

Tensor gelu_gate(const Context& context, const Tensor& gate, const Tensor& up, GeluForm form) {
  return gated(
      context, "gelu_gate", gate, up,
      [form](Stream& stream, const Buffer& g, const Buffer& u, const Buffer& out, int64_t count) {
        kernels::gelu_gate(stream, {g, u, out, count, form});
      },
      [form](Stream& stream, const Buffer& d_out, const Buffer& g, const Buffer& u, const Buffer& d_g,
             const Buffer& d_u,
             int64_t count) { kernels::gelu_gate_backward(stream, {d_out, g, u, d_g, d_u, count, form}); });
}

Tensor dropout(const Context& context, const Tensor& x, float p, const DropoutKey& key) {
  check_values("dropout", "x", x);
  if (p == 0) return x;
  const int64_t rows = x.shape().num_rows();
  const int64_t columns = x.shape().last();
  Tensor out = empty(context.stream, x.shape(), "dropout");
  kernels::dropout(context.stream, {x.buffer(), out.buffer(), rows, columns, p, key});
  if (is_recorded(context, {&x})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [x, out, rows, columns, p, key](Stream& stream) {
      const Contribution d_x(stream, x, "dropout d_x");
      kernels::dropout_backward(stream, {out.gradient(), d_x.buffer(), rows, columns, p, key});
      d_x.finish(stream);
    });
  }
  return out;
}

}  // namespace athanor::tensor
