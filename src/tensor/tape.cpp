// The tape, and recomputation of a block.
#include "tensor/tape.h"

namespace athanor::tensor {

void Tape::record(Tensor output, Backward backward) { entries_.push_back({std::move(output), std::move(backward)}); }

void Tape::run_backward(Stream& stream) {
  while (!entries_.empty()) {
    Entry entry = std::move(entries_.back());
    entries_.pop_back();
    if (!entry.output.gradient()) continue;
    entry.backward(stream);
    entry.output.clear_gradient();
  }
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
