// The tape, and recomputation of a block.
#include "tensor/tape.h"

#include <algorithm>
#include <utility>

namespace athanor::tensor {

void Tape::record(Tensor output, Backward backward) {
  record(std::vector<Tensor>{std::move(output)}, std::move(backward));
}

void Tape::record(std::vector<Tensor> outputs, Backward backward) {
  entries_.push_back({std::move(outputs), std::move(backward)});
}

void Tape::run_backward(Stream& stream) {
  while (!entries_.empty()) {
    Entry entry = std::move(entries_.back());
    entries_.pop_back();
    const bool is_used = std::any_of(entry.outputs.begin(), entry.outputs.end(),
                                     [](const Tensor& output) { return static_cast<bool>(output.gradient()); });
    if (!is_used) continue;
    entry.backward(stream);
    for (Tensor& output : entry.outputs) output.clear_gradient();
  }
}

void Tape::run_backward(Stream& stream, const Tensor& loss) {
  check(loss && loss.num_elements() == 1, "run_backward: the loss has shape {}; pass a tensor of one value",
        loss ? loss.shape().to_string() : "none");
  check(loss.needs_gradient(),
        "run_backward: no tensor that needs a gradient leads to the loss; call set_needs_gradient on the weights and "
        "give the ops this tape");
  loss.set_gradient_to_one(stream);
  run_backward(stream);
}

bool is_recorded(const Context& context, std::initializer_list<const Tensor*> inputs) {
  if (context.tape == nullptr) return false;
  for (const Tensor* input : inputs) {
    if (input->needs_gradient()) return true;
  }
  return false;
}

Tensor checkpoint(const Context& context, const Tensor& x,
                  const std::function<Tensor(const Context&, const Tensor&)>& block) {
  const kernels::MatMulPrecision precision = context.matmul_precision;
  Tensor out = block(Context{context.stream, nullptr, precision}, x);
  if (context.tape == nullptr) return out;
  out.set_needs_gradient(true);
  context.tape->record(out, [x, out, block, precision](Stream& stream) {
    Tape inner;
    Tensor input(x.buffer(), x.shape(), x.dtype());
    input.set_needs_gradient(x.needs_gradient());
    const Tensor again = block(Context{stream, &inner, precision}, input);
    again.add_gradient(stream, out.gradient());
    inner.run_backward(stream);
    if (x.needs_gradient() && input.gradient()) x.add_gradient(stream, input.gradient());
  });
  return out;
}

}  // namespace athanor::tensor
