// The bits of the f32 that equals an f16, in integers alone: every half has one, subnormals among them. NaN keeps its bits.
// Joined in front of both forms of fp16_to_fp32.

fn float_bits_of_half(half: u32) -> u32 {
  let sign = (half & 0x8000u) << 16u;
  let exponent = (half >> 10u) & 0x1fu;
  let mantissa = half & 0x3ffu;
  let normal = ((exponent + 112u) << 23u) | (mantissa << 13u);
  let not_finite = 0x7f800000u | (mantissa << 13u);
  // A subnormal's highest bit becomes the one that is not stored: 2^-24 times mantissa.
  let highest = firstLeadingBit(max(mantissa, 1u));
  let subnormal = ((highest + 103u) << 23u) | ((mantissa << (23u - highest)) & 0x7fffffu);
  var magnitude = select(normal, not_finite, exponent == 31u);
  magnitude = select(magnitude, select(subnormal, 0u, mantissa == 0u), exponent == 0u);
  return sign | magnitude;
}

fn two_floats(halves: u32) -> vec2<u32> {
  return vec2<u32>(float_bits_of_half(halves & 0xffffu), float_bits_of_half(halves >> 16u));
}
