// MLX, 8 bits: one byte a value, in order.
struct Unit {
  low: vec4<u32>,
  high: vec4<u32>,
  scale: f32,
  bias: f32,
}

fn load_unit(row: u32, index: u32) -> Unit {
  let at = row * (params.terms / 32u) + index;
  let group = group_scale(at >> params.group_shift);
  let scale = 256.0 * group.x;
  return Unit(w[2u * at], w[2u * at + 1u], scale, group.y - scale);
}

fn four(unit: Unit, piece: u32) -> vec4<f32> {
  let word = select(unit.high[piece & 3u], unit.low[piece & 3u], piece < 4u);
  return expand(bytes_of(word), unit.scale, unit.bias);
}

fn place(index: u32, piece: u32) -> u32 {
  return index * 8u + piece;
}
