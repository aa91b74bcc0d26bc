// Four values of x, or of its factor, from a place divisible by four, as K is.
alias XValue = vec4<f32>;

fn load_x(k: u32) -> vec4<f32> {
  return x[k / 4u];
}

fn load_factor(k: u32) -> vec4<f32> {
  return factor[k / 4u];
}
