// Rows of q, k and v read value by value, zero behind the end of the head: D not divisible by 4. start: the row of a head, in
// elements; d < D, a multiple of 4.

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k: array<f32>;
@group(0) @binding(2) var<storage, read> v: array<f32>;

fn load_q(start: u32, d: u32) -> vec4<f32> {
  var value = vec4<f32>(0.0);
  for (var i = 0u; i < 4u; i += 1u) {
    if (d + i < params.head_dim) {
      value[i] = q[start + d + i];
    }
  }
  return value;
}

fn load_k(start: u32, d: u32) -> vec4<f32> {
  var value = vec4<f32>(0.0);
  for (var i = 0u; i < 4u; i += 1u) {
    if (d + i < params.head_dim) {
      value[i] = k[start + d + i];
    }
  }
  return value;
}

fn load_v(start: u32, d: u32) -> vec4<f32> {
  var value = vec4<f32>(0.0);
  for (var i = 0u; i < 4u; i += 1u) {
    if (d + i < params.head_dim) {
      value[i] = v[start + d + i];
    }
  }
  return value;
}
