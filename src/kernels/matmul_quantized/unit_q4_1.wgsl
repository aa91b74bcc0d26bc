// ggml Q4_1, 20 bytes: d and m in f16, then 16 bytes whose lower halves are values 0 to 15 and whose upper halves are 16 to 31;
// w = d * q + m.
alias WValue = u32;

struct Unit {
  words: vec4<u32>,
  scale: f32,
  bias: f32,
}

fn load_unit(row: u32, index: u32) -> Unit {
  let first = (row * (params.terms / 32u) + index) * 5u;
  let head = w[first];
  let scale = 16.0 * exact_half(head & 0xffffu);
  let words = vec4<u32>(w[first + 1u], w[first + 2u], w[first + 3u], w[first + 4u]);
  return Unit(words, scale, exact_half(head >> 16u) - scale);
}

fn four(unit: Unit, piece: u32) -> vec4<f32> {
  return expand(nibbles_of_bytes(unit.words[piece & 3u] >> (piece & 4u)), unit.scale, unit.bias);
}

fn place(index: u32, piece: u32) -> u32 {
  return index * 8u + piece;
}
