// Four neighbouring values of a row whose length is a multiple of four: one Value. Its pair is dropout_quads_1; dropout is joined with one of
// them.

alias Value = vec4<f32>;

// Whether the row has the values 4 q to 4 q + 3.
fn has_quad(q: u32) -> bool {
  return q < params.length;
}

fn load_quad(start: u32, q: u32) -> vec4<f32> {
  return x[start + q];
}

fn store_quad(start: u32, q: u32, quad: vec4<f32>) {
  out[start + q] = quad;
}
