// ggml Q4_K, 144 bytes for 256 values: d and dmin in f16, twelve bytes with eight scales and eight minima of six bits, then 128 bytes.
// Each 32 of these hold two parts of 32 values, the lower halves the first part; w = d * scale * q - dmin * minimum. A unit is 16 bytes:
// 16 values of each of two parts.
alias WValue = vec4<u32>;

struct Unit {
  words: vec4<u32>,
  scale: vec2<f32>,
  bias: vec2<f32>,
}

// Scale and minimum of a part. The first four stand in six bits of a byte; the last four in four bits of one and two of the others.
fn scale_and_minimum(packed: vec3<u32>, part: u32) -> vec2<u32> {
  let bytes = (packed >> vec3<u32>(8u * (part & 3u))) & vec3<u32>(255u);
  let late = vec2<u32>((bytes.z & 15u) | ((bytes.x >> 6u) << 4u), (bytes.z >> 4u) | ((bytes.y >> 6u) << 4u));
  return select(late, bytes.xy & vec2<u32>(63u), part < 4u);
}

fn load_unit(row: u32, index: u32) -> Unit {
  let block = (row * (params.terms / 256u) + index / 8u) * 9u;
  let head = w[block];
  let d = exact_half(head.x & 0xffffu);
  let d_min = exact_half(head.x >> 16u);
  let part = index & 6u;
  let first = vec2<f32>(scale_and_minimum(head.yzw, part));
  let second = vec2<f32>(scale_and_minimum(head.yzw, part + 1u));
  let scale = 16.0 * d * vec2<f32>(first.x, second.x);
  return Unit(w[block + 1u + (index & 7u)], scale, -d_min * vec2<f32>(first.y, second.y) - scale);
}

fn four(unit: Unit, piece: u32) -> vec4<f32> {
  let part = piece >> 2u;
  return expand(nibbles_of_bytes(unit.words[piece & 3u] >> (piece & 4u)), unit.scale[part], unit.bias[part]);
}

fn place(index: u32, piece: u32) -> u32 {
  return (index >> 3u) * 64u + ((index >> 1u) & 3u) * 16u + (piece >> 2u) * 8u + (index & 1u) * 4u + (piece & 3u);
}
