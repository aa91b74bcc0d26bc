// Four weights of a row of ggml's Q8_0 from a place divisible by four: blocks of 34 bytes, d in f16 and 32 signed bytes, w = d * q. A block
// starts at any even byte, so four bytes are a word or lie in two. Joined behind exact_half.wgsl.
alias WValue = u32;

fn load_w(row: u32, k: u32) -> vec4<f32> {
  let block = (row * (params.terms / 32u) + k / 32u) * 34u;
  let scale_word = w[block / 4u];
  let d = exact_half(select(scale_word & 0xffffu, scale_word >> 16u, (block & 2u) != 0u));
  let at = block + 2u + k % 32u;
  let word = w[at / 4u];
  let is_split = (at & 2u) != 0u;
  // The word behind is part of the block where the bytes are split.
  let behind = w[select(at / 4u, at / 4u + 1u, is_split)];
  let bytes = select(word, (word >> 16u) | (behind << 16u), is_split);
  let q = vec4<i32>(vec4<u32>(bytes << 24u, bytes << 16u, bytes << 8u, bytes)) >> vec4<u32>(24u);
  return d * vec4<f32>(q);
}
