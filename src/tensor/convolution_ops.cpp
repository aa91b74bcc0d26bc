// Convolutions.
#include "kernels/conv1d/conv1d.h"
#include "tensor/op_parts.h"
#include "tensor/ops.h"

namespace athanor::tensor {

namespace {

/// Gradients of x (into d_x, empty when nobody needs it), weight and bias. The kernel adds to both of the last or to none: where one
/// has been written in this step and the other has not, the bias gets a pass of its own.
void conv1d_gradients(Stream& stream, kernels::Conv1dBackward args, const Tensor& weight, const Tensor& bias) {
  Tensor::GradientSlot weight_slot;
  Tensor::GradientSlot bias_slot;
  if (weight.needs_gradient()) weight_slot = weight.gradient_slot(stream);
  if (bias.needs_gradient()) bias_slot = bias.gradient_slot(stream);
  args.d_weight = weight_slot.buffer;
  args.d_bias = bias_slot.buffer;
  args.accumulate = weight_slot.buffer ? weight_slot.accumulate : bias_slot.accumulate;
  const bool is_split = weight_slot.buffer && bias_slot.buffer && weight_slot.accumulate != bias_slot.accumulate;
  if (is_split) args.d_bias = {};
  kernels::conv1d_backward(stream, args);
  if (!is_split) return;
  args.d_x = {};
  args.d_weight = {};
  args.d_bias = bias_slot.buffer;
  args.accumulate = bias_slot.accumulate;
  kernels::conv1d_backward(stream, args);
}

}  // namespace

Tensor conv1d(const Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_values("conv1d", "x", x);
  check_values("conv1d", "weight", weight);
  check_values("conv1d", "bias", bias);
  const Shape& shape = x.shape();
  check(shape.rank() == 2 || shape.rank() == 3, "conv1d: x is {}; pass (channels, length) or (batch, channels, length)",
        shape.to_string());
  const int64_t batch = shape.rank() == 3 ? shape[0] : 1;
  const int64_t channels = shape[shape.rank() - 2];
  check(weight.shape() == Shape({channels, 3}), "conv1d: x has {} channels but weight is {}; pass a weight of {}",
        channels, weight.shape().to_string(), Shape({channels, 3}).to_string());
  check(bias.shape() == Shape({channels}), "conv1d: x has {} channels but bias is {}; pass a bias of {}", channels,
        bias.shape().to_string(), Shape({channels}).to_string());
  Tensor out = empty(context.stream, shape, "conv1d");
  kernels::conv1d(context.stream,
                  {x.buffer(), weight.buffer(), bias.buffer(), out.buffer(), channels, shape.last(), batch});
  if (is_recorded(context, {&x, &weight, &bias})) {
    out.set_needs_gradient(true);
    context.tape->record(out, [x, weight, bias, out, channels, batch](Stream& stream) {
      const Contribution d_x(stream, x, "conv1d d_x");
      conv1d_gradients(stream,
                       {out.gradient(),
                        x.buffer(),
                        weight.buffer(),
                        d_x.buffer(),
                        {},
                        {},
                        channels,
                        x.shape().last(),
                        batch,
                        Accumulate::No},
                       weight, bias);
      d_x.finish(stream);
    });
  }
  return out;
}

}  // namespace athanor::tensor
