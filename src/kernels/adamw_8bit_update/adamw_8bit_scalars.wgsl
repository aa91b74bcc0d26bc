// Four weights one by one, for a slab whose length is no multiple of four. Its pair is adamw_8bit_vectors.

alias Weight = f32;

fn load_weights(first: u32, lanes: u32) -> vec4<f32> {
  var value = vec4<f32>(0.0);
  for (var lane = 0u; lane < lanes; lane += 1u) {
    value[lane] = weights[first + lane];
  }
  return value;
}

fn load_gradients(first: u32, lanes: u32) -> vec4<f32> {
  var value = vec4<f32>(0.0);
  for (var lane = 0u; lane < lanes; lane += 1u) {
    value[lane] = gradients[first + lane];
  }
  return value;
}

fn store_weights(first: u32, value: vec4<f32>, lanes: u32) {
  for (var lane = 0u; lane < lanes; lane += 1u) {
    weights[first + lane] = value[lane];
  }
}
