// The tape of one step: each op adds the function that turns its output's gradient into its inputs'. Run once, backwards.
#pragma once

#include "kernels/matmul/matmul_precision.h"
#include "tensor/tensor.h"

#include <functional>
#include <vector>

namespace athanor::tensor {

class Tape;

/// What every op is given: the stream it records on, the tape when gradients are wanted, and how products may round their factors.
struct Context {
  Stream& stream;
  Tape* tape = nullptr;
  kernels::MatMulPrecision matmul_precision = kernels::MatMulPrecision::Highest;

  device::Device& device() const { return stream.device(); }
};

class Tape {
 public:
  using Backward = std::function<void(Stream&)>;

  /// `output`'s gradient is complete when `backward` is called; it is not called when nobody gave `output` a gradient.
  void record(Tensor output, Backward backward);
  /// The same for an op with several outputs: `backward` is called when any of them got a gradient, with all that came.
  void record(std::vector<Tensor> outputs, Backward backward);

  /// Runs everything recorded, last first, and empties the tape. Memory of a step is freed as it goes. Gradients of outputs that end
  /// the computation were set before with add_gradient (or by the op itself, as the loss head does).
  void run_backward(Stream& stream);
  /// The same for a loss of one value, whose gradient is 1. Throws Error when nothing was recorded that leads to it.
  void run_backward(Stream& stream, const Tensor& loss);

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<Tensor> outputs;
    Backward backward;
  };
  std::vector<Entry> entries_;
};

/// True when the op must be recorded: there is a tape and at least one input needs a gradient.
bool is_recorded(const Context& context, std::initializer_list<const Tensor*> inputs);

/// Runs `block` on x without keeping what it computes inside, and again during the backward pass (activation checkpointing):
/// memory of one block instead of all, for one more forward. Parameters that the block uses get their gradients as usual.
/// Source: Chen et al. 2016, arXiv:1604.06174.
Tensor checkpoint(const Context& context, const Tensor& x,
                  const std::function<Tensor(const Context&, const Tensor&)>& block);

}  // namespace athanor::tensor
