// A soft cap on scores or logits: x becomes cap * tanh(x / cap), which bends x smoothly into (-cap, cap) (Gemma 2, arXiv:2408.00118).
// Joined behind an `alias Value` (f32 or a vector of them) with a kernel whose Params have soft_cap (0: none) and inverse_cap
// (1 / soft_cap; 0: none).

// WGSL promises its own tanh only to 1e-5. Near 0 an odd polynomial (minimax fit of our own, about 1 unit in the last place), farther out
// the exponential; saturates from 10 on, where tanh is 1 in f32.
fn tanh_of(x: Value) -> Value {
  let size = min(abs(x), Value(10.0));
  let square = size * size;
  var series = fma(square, Value(-0.00570498), Value(0.02063908));
  series = fma(square, series, Value(-0.05373971));
  series = fma(square, series, Value(0.13331442));
  series = fma(square, series, Value(-0.33333282));
  let near = fma(size * square, series, size);
  let far = Value(1.0) - Value(2.0) / (exp(size + size) + Value(1.0));
  return sign(x) * select(far, near, size < Value(0.625));
}

fn soft_cap(x: Value) -> Value {
  if (params.soft_cap == 0.0) {
    return x;
  }
  return params.soft_cap * tanh_of(x * params.inverse_cap);
}

// The derivative of soft_cap by x, from what soft_cap gave: exactly 1 where there is no cap.
fn soft_cap_slope(capped: Value) -> Value {
  let ratio = capped * params.inverse_cap;
  return Value(1.0) - ratio * ratio;
}
