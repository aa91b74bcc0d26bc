// Four weights of a row, as halves that lie two a word, from a place divisible by four; from K on the last one again, which x multiplies
// by zero.
alias WValue = u32;

fn load_half(index: u32) -> f32 {
  let halves = unpack2x16float(w[index / 2u]);
  return select(halves.x, halves.y, index % 2u == 1u);
}

fn load_w(row: u32, k: u32) -> vec4<f32> {
  let start = row * params.terms;
  let last = params.terms - 1u;
  return vec4<f32>(load_half(start + k), load_half(start + min(k + 1u, last)), load_half(start + min(k + 2u, last)),
                   load_half(start + min(k + 3u, last)));
}
