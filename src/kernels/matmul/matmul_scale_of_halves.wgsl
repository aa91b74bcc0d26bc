// W is stored as f16 and taken as it is.
fn w_scale() -> f32 {
  return 1.0;
}
