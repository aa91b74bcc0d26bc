// One Value of gelu and its slope, in both forms; gelu, gelu_gate and their gradients stand on it. Source: Hendrycks and Gimpel 2016,
// arXiv:1606.08415.

const GELU_ERF: u32 = 0u;  // of Params.form; 1 is the tanh form

// gelu(x) = x * share, gelu'(x) = slope.
struct GeluValue {
  share: Value,
  slope: Value,
}

// (1 + tanh(u)) / 2 is the sigmoid of 2 u, which needs no difference of near numbers: 2 u = x * (2 sqrt(2 / pi) + 0.044715 * that * x^2).
// At +-9.5 it is 0 or 1 to 33 digits, so x is held there and no infinity arises. 1 - s is e * s, in which no digits cancel.
fn gelu_tanh(x: Value) -> GeluValue {
  let held = clamp(x, Value(-9.5), Value(9.5));
  let square = held * held;
  let e = exp(-held * (Value(1.5957691216) + 0.07135481628 * square));
  let s = Value(1.0) / (Value(1.0) + e);
  return GeluValue(s, s + x * s * (e * s) * (Value(1.5957691216) + 0.21406444884 * square));
}

// The normal distribution below -a is e^(-a^2/2) * r(a) for a >= 0. The rational r is a minimax fit of the relative error on [0, 9], 2e-8
// with these coefficients (gelu_fit.py); all are positive, so that no digits cancel. From 13 on the density is nothing beside any x.
fn gelu_erf(x: Value) -> GeluValue {
  let a = min(abs(x), Value(13.0));
  let bell = exp(-0.5 * a * a);
  let above = fma(fma(fma(fma(Value(0.00355789951), a, Value(0.0367826366)), a, Value(0.171647351)), a,
                      Value(0.422350782)), a, Value(0.5));
  let below = fma(fma(fma(fma(fma(Value(0.00891800686), a, Value(0.0922141892)), a, Value(0.438911269)), a,
                          Value(1.15388711)), a, Value(1.64258627)), a, Value(1.0));
  let tail = bell * above / below;
  let share = select(Value(1.0) - tail, tail, x < Value(0.0));
  return GeluValue(share, share + x * bell * 0.3989422804);
}

fn gelu_value(x: Value, form: u32) -> GeluValue {
  if (form == GELU_ERF) {
    return gelu_erf(x);
  }
  return gelu_tanh(x);
}
