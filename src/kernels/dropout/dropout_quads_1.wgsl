// Four neighbouring values of a row whose length is no multiple of four. Its pair is dropout_quads_4; dropout is joined with one of them.

alias Value = f32;

// Whether the row has any of the values 4 q to 4 q + 3.
fn has_quad(q: u32) -> bool {
  return q * 4u < params.length;
}

fn load_quad(start: u32, q: u32) -> vec4<f32> {
  var quad = vec4<f32>(0.0);
  for (var lane = 0u; lane < 4u; lane += 1u) {
    if (q * 4u + lane < params.length) {
      quad[lane] = x[start + q * 4u + lane];
    }
  }
  return quad;
}

fn store_quad(start: u32, q: u32, quad: vec4<f32>) {
  for (var lane = 0u; lane < 4u; lane += 1u) {
    if (q * 4u + lane < params.length) {
      out[start + q * 4u + lane] = quad[lane];
    }
  }
}
