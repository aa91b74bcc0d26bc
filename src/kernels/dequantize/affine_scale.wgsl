// Scale or bias of an MLX group out of a buffer read as u32: f16 and bf16 lie two in a u32. Joined behind exact_half.wgsl.
const SCALE_F16: u32 = 0u;
const SCALE_BF16: u32 = 1u;
const SCALE_F32: u32 = 2u;

// The u32 that holds number `index`.
fn scale_word(index: u32, kind: u32) -> u32 {
  return select(index >> 1u, index, kind == SCALE_F32);
}

fn scale_value(word: u32, index: u32, kind: u32) -> f32 {
  let bits = (word >> (16u * (index & 1u))) & 0xffffu;
  if (kind == SCALE_F16) {
    return exact_half(bits);
  }
  return bitcast<f32>(select(word, bits << 16u, kind == SCALE_BF16));
}
