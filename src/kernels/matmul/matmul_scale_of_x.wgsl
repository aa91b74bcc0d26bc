// By what X is multiplied before it is rounded to f16.
fn x_scale() -> f32 {
  return x_scales[0];
}
