// Losses, and the head with its loss. There the logits of a chunk of rows exist for a moment: made, turned into their own gradient in
// place, used for both gradients, overwritten by the next chunk.
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/matmul/matmul.h"
#include "kernels/max_magnitude/max_magnitude.h"
#include "kernels/mse_loss/mse_loss.h"
#include "kernels/mul/mul.h"
#include "tensor/op_parts.h"
#include "tensor/ops.h"
#include "tensor/product_weight.h"

#include <algorithm>

namespace athanor::tensor {

namespace {

/// Rows of logits that one chunk holds: what fits the device's chunk size, in multiples of 64 so that every slice starts where a
/// kernel may bind it.
int64_t rows_per_chunk(const device::DeviceInfo& info, int64_t rows, int64_t vocabulary) {
  constexpr int64_t kMultiple = 64;
  const int64_t fitting = std::min(info.chunk_bytes, info.max_binding_bytes) / (4 * vocabulary);
  const int64_t chunk = std::max(kMultiple, fitting / kMultiple * kMultiple);
  return std::min(rows, chunk);
}

/// What a product multiplies the gradient of logits by (max_magnitude), without looking at it: |softmax - target| is at most 1, so `bound`
/// bounds it. Empty where that does not hold, or nothing is rounded.
Buffer scale_of_bound(Stream& stream, float bound, const CrossEntropyTerms& terms, kernels::MatMulPrecision precision) {
  if (precision == kernels::MatMulPrecision::Highest || terms.z_loss != 0) return {};
  const std::array<float, 2> scale = kernels::scale_of_magnitude(bound);
  return from_values(stream, std::vector<float>(scale.begin(), scale.end()), Shape{2}, "scale of a bound").buffer();
}

Tensor upload_targets(Stream& stream, std::span<const int32_t> targets, int64_t vocabulary) {
  kernels::check_targets(targets, vocabulary);
  const Tensor uploaded = empty(stream, Shape{static_cast<int64_t>(targets.size())}, "targets", DType::I32);
  stream.upload(uploaded.buffer(), std::as_bytes(targets));
  return uploaded;
}

/// Gives `x` its gradient of a loss: launch(d_x) writes it for a loss whose own gradient is 1, by which it is multiplied unless it is.
template <typename Launch>
void loss_backward(Stream& stream, const Tensor& loss, const Tensor& x, const Launch& launch) {
  if (!x.needs_gradient()) return;
  if (loss.gradient_is_one()) {
    const Contribution d_x(stream, x, "gradient of a loss");
    launch(d_x.buffer());
    d_x.finish(stream);
    return;
  }
  const Tensor unscaled = empty(stream, x.shape(), "gradient of a loss, unscaled");
  launch(unscaled.buffer());
  const Contribution d_x(stream, x, "gradient of a loss");
  kernels::mul(stream, {unscaled.buffer(), loss.gradient(), d_x.buffer(), x.num_elements(), 1});
  d_x.finish(stream);
}

}  // namespace

Tensor mse_loss(const Context& context, const Tensor& prediction, const Tensor& target) {
  check_one_shape("mse_loss", "prediction", prediction, "target", target);
  const int64_t count = prediction.num_elements();
  const float scale = static_cast<float>(1.0 / static_cast<double>(count));
  Tensor loss = empty(context.stream, Shape{1}, "mse_loss");
  kernels::mse_loss(context.stream, {prediction.buffer(), target.buffer(), loss.buffer(), count, scale});
  if (is_recorded(context, {&prediction, &target})) {
    loss.set_needs_gradient(true);
    context.tape->record(loss, [prediction, target, loss, count, scale](Stream& stream) {
      loss_backward(stream, loss, prediction, [&](const Buffer& d_prediction) {
        kernels::mse_loss_backward(stream, {prediction.buffer(), target.buffer(), d_prediction, count, scale});
      });
      loss_backward(stream, loss, target, [&](const Buffer& d_target) {
        kernels::mse_loss_backward(stream, {target.buffer(), prediction.buffer(), d_target, count, scale});
      });
    });
  }
  return loss;
}

Tensor cross_entropy(const Context& context, const Tensor& logits, std::span<const int32_t> targets,
                     const CrossEntropyTerms& terms) {
  check_values("cross_entropy", "logits", logits);
  Stream& stream = context.stream;
  const int64_t rows = logits.shape().num_rows();
  const int64_t vocabulary = logits.shape().last();
  check(static_cast<int64_t>(targets.size()) == rows, "cross_entropy: {} targets for {} rows of logits; pass one a row",
        targets.size(), rows);
  const Tensor uploaded = upload_targets(stream, targets, vocabulary);
  const int64_t ignored = std::count(targets.begin(), targets.end(), kernels::kIgnoreTarget);
  const float scale = static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(1, rows - ignored)));
  const Tensor losses = empty(stream, Shape{rows}, "losses");
  const Tensor sum = empty(stream, Shape{1}, "sum of losses");
  const Tensor factor = from_values(stream, std::vector<float>{scale}, Shape{1}, "1 / number of targets");
  Tensor loss = empty(stream, Shape{1}, "cross_entropy");
  kernels::cross_entropy(stream,
                         {logits.buffer(), uploaded.buffer(), losses.buffer(), rows, vocabulary, terms, {}, {}});
  kernels::sum(stream, {losses.buffer(), sum.buffer(), rows});
  kernels::mul(stream, {sum.buffer(), factor.buffer(), loss.buffer(), 1});
  if (is_recorded(context, {&logits})) {
    loss.set_needs_gradient(true);
    context.tape->record(loss, [=](Stream& backward_stream) {
      loss_backward(backward_stream, loss, logits, [&](const Buffer& d_logits) {
        kernels::cross_entropy_backward(backward_stream,
                                        {logits.buffer(), uploaded.buffer(), d_logits, scale, rows, vocabulary, terms});
      });
    });
  }
  return loss;
}

void cross_entropy_head(const Context& context, const Tensor& x, const Tensor& head, std::span<const int32_t> targets,
                        float scale, const Buffer& loss_sum, const CrossEntropyTerms& terms) {
  check_values("cross_entropy_head", "x", x);
  check_values("cross_entropy_head", "head", head);
  Stream& stream = context.stream;
  const int64_t rows = x.shape().num_rows();
  const int64_t columns = x.shape().last();
  const int64_t vocabulary = head.shape()[0];
  check(head.shape().rank() == 2 && head.shape()[1] == columns, "cross_entropy_head: head is {} but x has rows of {}",
        head.shape().to_string(), columns);
  check(static_cast<int64_t>(targets.size()) == rows, "cross_entropy_head: {} targets for {} rows; pass one a row",
        targets.size(), rows);
  const Tensor targets_on_device = upload_targets(stream, targets, vocabulary);
  const Tensor losses = empty(stream, Shape{rows}, "losses");

  const ProductWeight read = product_weight(head);
  const bool wants_gradient = is_recorded(context, {&x, &head});
  const Tensor d_x = wants_gradient && x.needs_gradient() ? empty(stream, x.shape(), "d_x of the head") : Tensor();
  const int64_t chunk = rows_per_chunk(stream.device().info(), rows, vocabulary);
  const Tensor logits = empty(stream, Shape{chunk, vocabulary}, "logits of a chunk");
  const kernels::MatMulPrecision precision = context.matmul_precision;
  const Buffer bound = wants_gradient ? scale_of_bound(stream, scale, terms, precision) : Buffer();
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    const int64_t count = std::min(chunk, rows - begin);
    Buffer x_scale;          // of this chunk
    Buffer d_scale = bound;  // of its logits' gradient
    const Buffer x_chunk = x.buffer().slice(begin * columns * 4, count * columns * 4);
    const Buffer logits_chunk = logits.buffer().slice(0, count * vocabulary * 4);
    const Buffer targets_chunk = targets_on_device.buffer().slice(begin * 4, count * 4);
    const Buffer losses_chunk = losses.buffer().slice(begin * 4, count * 4);
    kernels::matmul_t(stream, {x_chunk, read.buffer, logits_chunk, count, vocabulary, columns, Accumulate::No,
                               read.type, precision, &x_scale, head.kept_scale()});
    if (!wants_gradient) {
      kernels::cross_entropy(stream, {logits_chunk, targets_chunk, losses_chunk, count, vocabulary, terms, {}, {}});
      continue;
    }
    kernels::cross_entropy_in_place(
        stream, {logits_chunk, targets_chunk, losses_chunk, scale, count, vocabulary, terms, {}, {}});
    if (d_x) {
      const Buffer d_x_chunk = d_x.buffer().slice(begin * columns * 4, count * columns * 4);
      kernels::matmul(stream, {logits_chunk, read.buffer, d_x_chunk, count, columns, vocabulary, Accumulate::No,
                               read.type, precision, &d_scale, head.kept_scale()});
    }
    if (head.needs_gradient()) {
      const Tensor::GradientSlot slot = head.gradient_slot(stream);
      kernels::matmul_at(stream, {logits_chunk, x_chunk, slot.buffer, vocabulary, columns, count, slot.accumulate,
                                  DType::F32, precision, &d_scale, &x_scale});
    }
  }
  kernels::sum(stream, {losses.buffer(), loss_sum, rows, Accumulate::Yes});
  if (d_x) x.add_gradient(stream, d_x.buffer());
}

}  // namespace athanor::tensor
