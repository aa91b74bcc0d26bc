// ggml Q6_K, 210 bytes for 256 values: 128 bytes with four low bits, 64 with two high bits, sixteen signed scales, d in f16;
// w = d * scale * (q - 32), a scale for 16 values. Each half of a block has four rows of 32 values: of its 64 low bytes, the first 32
// hold rows 0 and 2, the others rows 1 and 3; its 32 high bytes hold two bits of each row. A unit is eight neighbours of each row: 24
// bytes. Blocks start at any even byte.
alias WValue = u32;

struct Unit {
  low: vec4<u32>,   // of rows 0 and 2, 0 and 2, 1 and 3, 1 and 3
  high: vec2<u32>,
  scale: vec4<f32>,  // of each row
}

// Eight bytes from an even byte on.
fn eight_bytes(at: u32) -> vec2<u32> {
  let first = at >> 2u;
  let aligned = (at & 2u) == 0u;
  let words = vec2<u32>(w[first], w[first + 1u]);
  let next = vec2<u32>(words.y, w[first + select(2u, 1u, aligned)]);
  return select((words >> vec2<u32>(16u)) | (next << vec2<u32>(16u)), words, aligned);
}

fn load_unit(row: u32, index: u32) -> Unit {
  let block = (row * (params.terms / 256u) + index / 8u) * 210u;
  let half = (index >> 2u) & 1u;
  let eight = index & 3u;
  let low = block + 64u * half + 8u * eight;
  let high = eight_bytes(block + 128u + 32u * half + 8u * eight);
  // Two scales a row, of which this unit lies under one.
  let packed = eight_bytes(block + 192u + 8u * half) >> vec2<u32>(8u * (eight >> 1u));
  let bytes = vec4<u32>(packed.x, packed.x >> 16u, packed.y, packed.y >> 16u) << vec4<u32>(24u);
  let signed_scales = vec4<f32>(bitcast<vec4<i32>>(bytes) >> vec4<u32>(24u));
  let d = exact_half((w[(block + 208u) >> 2u] >> (8u * ((block + 208u) & 2u))) & 0xffffu);
  return Unit(vec4<u32>(eight_bytes(low), eight_bytes(low + 32u)), high, 64.0 * d * signed_scales);
}

fn four(unit: Unit, piece: u32) -> vec4<f32> {
  let row = piece >> 1u;
  let low = unit.low[(row & 1u) * 2u + (piece & 1u)] >> (4u * (row >> 1u));
  let high = unit.high[piece & 1u] >> (2u * row);
  let q = (low & 0x0f0f0f0fu) | ((high & 0x03030303u) << 4u);
  let mantissa = vec4<u32>(q << 17u, q << 9u, q << 1u, q >> 7u) & vec4<u32>(0x7e0000u);
  return expand(mantissa, unit.scale[row], -1.5 * unit.scale[row]);
}

fn place(index: u32, piece: u32) -> u32 {
  return (index >> 2u) * 32u + (piece >> 1u) * 8u + (index & 3u) * 2u + (piece & 1u);
}
