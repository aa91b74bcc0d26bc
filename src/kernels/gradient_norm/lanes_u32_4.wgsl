// Four f32 read as bits, sixteen bytes in one load. Its pair is lanes_u32_1.

alias Bits = vec4<u32>;
const LANES: u32 = 4u;

fn any_not_finite(bits: Bits) -> bool {
  return any((bits & vec4<u32>(0x7f800000u)) == vec4<u32>(0x7f800000u));
}

fn sum_of_squares(bits: Bits) -> f32 {
  let value = bitcast<vec4<f32>>(bits);
  return dot(value, value);
}
