// Four weights of a row from a place divisible by four; from K on the last one again, which x multiplies by zero.
alias WValue = f32;

fn load_w(row: u32, k: u32) -> vec4<f32> {
  let start = row * params.terms;
  let last = params.terms - 1u;
  return vec4<f32>(w[start + k], w[start + min(k + 1u, last)], w[start + min(k + 2u, last)],
                   w[start + min(k + 3u, last)]);
}
