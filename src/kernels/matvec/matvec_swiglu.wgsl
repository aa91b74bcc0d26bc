// The operand is silu(x) * factor. Far below zero e^-x would overflow: from -80 on silu is 0 in f32 beside any sum.
struct Operand {
  values: vec4<f32>,
  squares: f32,
}

fn load_operand(k: u32, is_inside: bool) -> Operand {
  let gate = load_x(k);
  let silu = gate / (1.0 + exp(min(-gate, vec4<f32>(80.0))));
  return Operand(select(vec4<f32>(0.0), silu * load_factor(k), is_inside), 0.0);
}

fn finish(sums: vec2<f32>) -> f32 {
  return sums.x;
}
