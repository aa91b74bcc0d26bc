// The operand is x * factor / sqrt(mean(x^2) + eps); the root, which is the same for all of it, is left to the end.
struct Operand {
  values: vec4<f32>,
  squares: f32,
}

fn load_operand(k: u32, is_inside: bool) -> Operand {
  let values = select(vec4<f32>(0.0), load_x(k), is_inside);
  return Operand(values * load_factor(k), dot(values, values));
}

fn finish(sums: vec2<f32>) -> f32 {
  return sums.x * inverseSqrt(sums.y / f32(params.terms) + params.eps);
}
