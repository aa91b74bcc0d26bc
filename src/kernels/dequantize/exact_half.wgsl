// The value of an IEEE half from its bits by integer steps: exact, subnormals kept, which unpack2x16float may flush. Scales of small
// weights are such subnormals (below 6.1e-5). Infinity and NaN are not expected.
fn exact_half(bits: u32) -> f32 {
  let magnitude = bits & 0x7fffu;
  let normal = bitcast<f32>((magnitude << 13u) + 0x38000000u);  // the exponent's bias goes from 15 to 127
  // A subnormal is a multiple of 2^-24, the distance of neighbours at 0.5.
  let subnormal = bitcast<f32>(0x3f000000u | magnitude) - 0.5;
  let value = select(subnormal, normal, magnitude >= 0x400u);
  return select(value, -value, (bits & 0x8000u) != 0u);
}
