// The head with its loss. Logits of a chunk of rows exist for a moment: made, turned into their own gradient in place, used for both
// gradients, overwritten by the next chunk.
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/matmul/matmul.h"
#include "tensor/ops.h"
#include "tensor/product_weight.h"

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

}  // namespace

void cross_entropy_head(const Context& context, const Tensor& x, const Tensor& head, std::span<const int32_t> targets,
                        float scale, const Buffer& loss_sum, const kernels::CrossEntropyTerms& terms) {
  Stream& stream = context.stream;
  const int64_t rows = x.shape().num_rows();
  const int64_t columns = x.shape().last();
  const int64_t vocabulary = head.shape()[0];
  check(head.shape().rank() == 2 && head.shape()[1] == columns, "cross_entropy_head: head is {} but x has rows of {}",
        head.shape().to_string(), columns);
  check(static_cast<int64_t>(targets.size()) == rows, "cross_entropy_head: {} targets for {} rows; pass one a row",
        targets.size(), rows);
  kernels::check_targets(targets, vocabulary);
  const Tensor targets_on_device = empty(stream, Shape{rows}, "targets", DType::I32);
  stream.upload(targets_on_device.buffer(), std::as_bytes(targets));
  const Tensor losses = empty(stream, Shape{rows}, "losses");

  const ProductWeight read = product_weight(head);
  const bool wants_gradient = is_recorded(context, {&x, &head});
  const Tensor d_x = wants_gradient && x.needs_gradient() ? empty(stream, x.shape(), "d_x of the head") : Tensor();
  const int64_t chunk = rows_per_chunk(stream.device().info(), rows, vocabulary);
  const Tensor logits = empty(stream, Shape{chunk, vocabulary}, "logits of a chunk");
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    const int64_t count = std::min(chunk, rows - begin);
    const Buffer x_chunk = x.buffer().slice(begin * columns * 4, count * columns * 4);
    const Buffer logits_chunk = logits.buffer().slice(0, count * vocabulary * 4);
    const Buffer targets_chunk = targets_on_device.buffer().slice(begin * 4, count * 4);
    const Buffer losses_chunk = losses.buffer().slice(begin * 4, count * 4);
    kernels::matmul_t(stream,
                      {x_chunk, read.buffer, logits_chunk, count, vocabulary, columns, Accumulate::No, read.type});
    if (!wants_gradient) {
      kernels::cross_entropy(stream, {logits_chunk, targets_chunk, losses_chunk, count, vocabulary, terms});
      continue;
    }
    kernels::cross_entropy_in_place(stream,
                                    {logits_chunk, targets_chunk, losses_chunk, scale, count, vocabulary, terms});
    if (d_x) {
      const Buffer d_x_chunk = d_x.buffer().slice(begin * columns * 4, count * columns * 4);
      kernels::matmul(stream,
                      {logits_chunk, read.buffer, d_x_chunk, count, columns, vocabulary, Accumulate::No, read.type});
    }
    if (head.needs_gradient()) {
      const Tensor::GradientSlot slot = head.gradient_slot(stream);
      kernels::matmul_at(stream, {logits_chunk, x_chunk, slot.buffer, vocabulary, columns, count, slot.accumulate});
    }
  }
  kernels::sum(stream, {losses.buffer(), loss_sum, rows, Accumulate::Yes});
  if (d_x) x.add_gradient(stream, d_x.buffer());
}

}  // namespace athanor::tensor
