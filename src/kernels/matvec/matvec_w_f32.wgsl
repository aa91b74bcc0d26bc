// Four weights of a row from a place divisible by four, as K is.
alias WValue = vec4<f32>;

fn load_w(row: u32, k: u32) -> vec4<f32> {
  return w[(row * params.terms + k) / 4u];
}
