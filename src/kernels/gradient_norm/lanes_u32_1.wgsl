// One f32 read as bits, for a count that is no multiple of four. Its pair is lanes_u32_4; a kernel is joined with one of them.

alias Bits = u32;
const LANES: u32 = 1u;

fn any_not_finite(bits: Bits) -> bool {
  return (bits & 0x7f800000u) == 0x7f800000u;
}

fn sum_of_squares(bits: Bits) -> f32 {
  let value = bitcast<f32>(bits);
  return value * value;
}
