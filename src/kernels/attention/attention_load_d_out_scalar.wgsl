// Rows of d_out read value by value, zero behind the end of the head: D not divisible by 4.

@group(0) @binding(3) var<storage, read> d_out: array<f32>;

fn load_d_out(start: u32, d: u32) -> vec4<f32> {
  var value = vec4<f32>(0.0);
  for (var i = 0u; i < 4u; i += 1u) {
    if (d + i < params.head_dim) {
      value[i] = d_out[start + d + i];
    }
  }
  return value;
}
