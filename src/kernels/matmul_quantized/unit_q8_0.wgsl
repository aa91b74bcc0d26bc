// ggml Q8_0, 34 bytes: d in f16, then 32 signed bytes; w = d * q. A block starts at any even byte, so it covers nine u32, and its bytes
// are either aligned behind d, or half a u32 off.
alias WValue = u32;

struct Unit {
  low: vec4<u32>,
  high: vec4<u32>,
  scale: f32,
  bias: f32,
}

fn load_unit(row: u32, index: u32) -> Unit {
  let at = (row * (params.terms / 32u) + index) * 34u;
  let first = at >> 2u;
  let aligned = (at & 2u) != 0u;  // d ends at a whole u32
  let a = vec4<u32>(w[first], w[first + 1u], w[first + 2u], w[first + 3u]);
  let b = vec4<u32>(w[first + 4u], w[first + 5u], w[first + 6u], w[first + 7u]);
  let a_next = vec4<u32>(a.yzw, b.x);
  let b_next = vec4<u32>(b.yzw, w[first + 8u]);
  let half = vec4<u32>(16u);
  let low = select((a >> half) | (a_next << half), a_next, aligned);
  let high = select((b >> half) | (b_next << half), b_next, aligned);
  let d = exact_half(select(a.x & 0xffffu, a.x >> 16u, aligned));
  // q + 128 is unsigned: the sign's bit turned.
  let turn = vec4<u32>(0x80808080u);
  return Unit(low ^ turn, high ^ turn, 256.0 * d, -384.0 * d);
}

fn four(unit: Unit, piece: u32) -> vec4<f32> {
  let word = select(unit.high[piece & 3u], unit.low[piece & 3u], piece < 4u);
  return expand(bytes_of(word), unit.scale, unit.bias);
}

fn place(index: u32, piece: u32) -> u32 {
  return index * 8u + piece;
}
