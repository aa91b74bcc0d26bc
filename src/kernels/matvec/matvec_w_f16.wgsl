// Four weights of a row, as halves, from a place divisible by four, as K is.
alias WValue = vec2<u32>;

fn load_w(row: u32, k: u32) -> vec4<f32> {
  let halves = w[(row * params.terms + k) / 4u];
  return vec4<f32>(unpack2x16float(halves.x), unpack2x16float(halves.y));
}
