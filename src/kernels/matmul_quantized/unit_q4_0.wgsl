// ggml Q4_0, 18 bytes: d in f16, then 16 bytes whose lower halves are values 0 to 15 and whose upper halves are 16 to 31;
// w = d * (q - 8). A block starts at any even byte and covers five u32, as in unit_q8_0.
alias WValue = u32;

struct Unit {
  words: vec4<u32>,
  scale: f32,
  bias: f32,
}

fn load_unit(row: u32, index: u32) -> Unit {
  let at = (row * (params.terms / 32u) + index) * 18u;
  let first = at >> 2u;
  let aligned = (at & 2u) != 0u;
  let a = vec4<u32>(w[first], w[first + 1u], w[first + 2u], w[first + 3u]);
  let next = vec4<u32>(a.yzw, w[first + 4u]);
  let words = select((a >> vec4<u32>(16u)) | (next << vec4<u32>(16u)), next, aligned);
  let d = exact_half(select(a.x & 0xffffu, a.x >> 16u, aligned));
  return Unit(words, 16.0 * d, -24.0 * d);
}

fn four(unit: Unit, piece: u32) -> vec4<f32> {
  return expand(nibbles_of_bytes(unit.words[piece & 3u] >> (piece & 4u)), unit.scale, unit.bias);
}

fn place(index: u32, piece: u32) -> u32 {
  return index * 8u + piece;
}
