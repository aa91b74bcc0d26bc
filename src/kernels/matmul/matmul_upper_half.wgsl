// The upper eleven bits of a value's significand, which f16 holds; what is left is the lower half. By a mask: a compiler may fold f32(f16(x))
// into x, and nothing would be left.
fn upper_half(values: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(values) & vec4<u32>(0xFFFFE000u));
}
