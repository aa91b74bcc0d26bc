// X is silu(GATE) * UP, made while it is loaded. exp stays finite: beyond 80 the sigmoid is 0 or 1 in f32.
fn hidden(g: vec4<f32>, u: vec4<f32>) -> vec4<f32> {
  return g / (1.0 + exp(clamp(-g, vec4<f32>(-80.0), vec4<f32>(80.0)))) * u;
}
