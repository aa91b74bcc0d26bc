// Four weights in one load, for a slab whose length is a multiple of four. Its pair is adamw_8bit_scalars.

alias Weight = vec4<f32>;

fn load_weights(first: u32, lanes: u32) -> vec4<f32> {
  return weights[first / 4u];
}

fn load_gradients(first: u32, lanes: u32) -> vec4<f32> {
  return gradients[first / 4u];
}

fn store_weights(first: u32, value: vec4<f32>, lanes: u32) {
  if (lanes == 4u) {
    weights[first / 4u] = value;
  } else {
    let is_there = vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(lanes);
    weights[first / 4u] = select(weights[first / 4u], value, is_there);
  }
}
