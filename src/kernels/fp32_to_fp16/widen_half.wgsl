// The bits of the f32 that equals an f16, exactly: every half has one, subnormals among them. NaN keeps its bits.
// Joined in front of both forms of fp16_to_fp32.

fn float_bits_of_half(half: u32) -> u32 {
  let magnitude = half & 0x7fffu;
  // The exponent's bias goes from 15 to 127; of infinity and NaN it goes from 31 to 255.
  let rebias = select(0x38000000u, 0x70000000u, magnitude >= 0x7c00u);
  let normal = (magnitude << 13u) + rebias;
  // A subnormal is a multiple of 2^-24, the distance of neighbours at 0.5: nothing on the way is a subnormal f32.
  let subnormal = bitcast<u32>(bitcast<f32>(0x3f000000u | magnitude) - 0.5);
  return ((half & 0x8000u) << 16u) | select(subnormal, normal, magnitude >= 0x400u);
}

fn two_floats(halves: u32) -> vec2<u32> {
  return vec2<u32>(float_bits_of_half(halves & 0xffffu), float_bits_of_half(halves >> 16u));
}
