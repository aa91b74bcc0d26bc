// By what W is multiplied before it is rounded to f16.
fn w_scale() -> f32 {
  return w_scales[0];
}
