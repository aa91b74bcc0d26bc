// Bits of an f32 as an integer that is larger for a larger value; -0 counts as 0. Not for NaN.
fn ordered_bits(bits: u32) -> u32 {
  let unsigned_zero = select(bits, 0u, bits == 0x80000000u);
  return unsigned_zero ^ select(0x80000000u, 0xffffffffu, unsigned_zero >= 0x80000000u);
}
