// The bits of the f16 nearest to an f32, ties to even, in integers alone, since WGSL's own conversions fix neither rounding nor
// subnormals nor overflow. Joined in front of the kernels that write halves.

fn half_bits(bits: u32) -> u32 {
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & 0x7fffffffu;
  // Normal halves: the exponent's bias goes from 127 to 15 and 13 bits of the mantissa are rounded away. A carry moves on into the
  // exponent, and beyond the largest half into infinity.
  let normal = min((magnitude + 0xfffu + ((magnitude >> 13u) & 1u) - 0x38000000u) >> 13u, 0x7c00u);
  // Below 2^-14 halves are multiples of 2^-24. From a shift of 25 on nothing is left, f32 subnormals among it.
  let shift = min(126u - min(magnitude >> 23u, 126u), 25u);
  let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  let subnormal = (mantissa + ((1u << shift) >> 1u) - 1u + ((mantissa >> shift) & 1u)) >> shift;
  // A NaN keeps its upper bits, and stays one when they are zero.
  let payload = (magnitude >> 13u) & 0x3ffu;
  let nan = 0x7c00u | select(payload, 0x200u, payload == 0u);
  let finite = select(subnormal, normal, magnitude >= 0x38800000u);
  return sign | select(finite, nan, magnitude > 0x7f800000u);
}

// Two f32 as two halves of a u32, the first in the low half, as unpack2x16float reads them.
fn two_halves(bits: vec2<u32>) -> u32 {
  return half_bits(bits.x) | (half_bits(bits.y) << 16u);
}

fn four_halves(bits: vec4<u32>) -> vec2<u32> {
  return vec2<u32>(two_halves(bits.xy), two_halves(bits.zw));
}
