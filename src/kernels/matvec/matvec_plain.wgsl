// The operand is x.
struct Operand {
  values: vec4<f32>,
  squares: f32,
}

fn load_operand(k: u32, is_inside: bool) -> Operand {
  return Operand(select(vec4<f32>(0.0), load_x(k), is_inside), 0.0);
}

fn finish(sums: vec2<f32>) -> f32 {
  return sums.x;
}
