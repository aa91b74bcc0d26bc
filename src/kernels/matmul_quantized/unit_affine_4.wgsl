// MLX, 4 bits: eight values a u32, in order, the lowest bits first.
struct Unit {
  words: vec4<u32>,
  scale: f32,
  bias: f32,
}

fn load_unit(row: u32, index: u32) -> Unit {
  let at = row * (params.terms / 32u) + index;
  let group = group_scale(at >> params.group_shift);
  let scale = 16.0 * group.x;
  return Unit(w[at], scale, group.y - scale);
}

fn four(unit: Unit, piece: u32) -> vec4<f32> {
  let word = unit.words[piece >> 1u] >> (16u * (piece & 1u));
  let mantissa = vec4<u32>(word << 19u, word << 15u, word << 11u, word << 7u) & vec4<u32>(0x780000u);
  return expand(mantissa, unit.scale, unit.bias);
}

fn place(index: u32, piece: u32) -> u32 {
  return index * 8u + piece;
}
