// A Unit is 32 values of a row of W as they lie in memory, with their scales; every format has its own, with three functions:
//   load_unit(row, index) -> Unit   unit `index` of a row, K / 32 units a row
//   four(unit, piece) -> vec4<f32>  the values of piece 0 to 7
//   place(index, piece) -> u32      where they stand in the row, in vec4
// The 32 values are those that share bytes, so that each byte is read by one thread: not always neighbours, but the 8 units of 256
// values cover these values. Sums run over all places, so the order does not matter.

// Integers of B bits at the top of a mantissa's 23 bits: with the exponent of 1 they are the number 1 + q / 2^B, which saves a
// conversion. So w = scale * q + bias is one fma of that number with scale * 2^B and bias - scale * 2^B, which the units hold.
fn expand(mantissa: vec4<u32>, scale: f32, bias: f32) -> vec4<f32> {
  return fma(bitcast<vec4<f32>>(mantissa | vec4<u32>(0x3f800000u)), vec4<f32>(scale), vec4<f32>(bias));
}

// The lower four bits of each byte, moved there.
fn nibbles_of_bytes(word: u32) -> vec4<u32> {
  return vec4<u32>(word << 19u, word << 11u, word << 3u, word >> 5u) & vec4<u32>(0x780000u);
}

// Each byte, moved there.
fn bytes_of(word: u32) -> vec4<u32> {
  return vec4<u32>(word << 15u, word << 7u, word >> 1u, word >> 9u) & vec4<u32>(0x7f8000u);
}
