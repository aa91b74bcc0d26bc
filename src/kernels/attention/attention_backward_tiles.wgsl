// What the two tiled kernels of the backward share: staging of d_out, and the weights of a tile with their gradients, computed again. The
// statistics of a query row are (log_sum_exp, delta), see attention_backward_delta.wgsl.

fn stage_d_out(slot: u32, b: u32, first: u32, head: u32, chunk: u32, thread: u32) {
  for (var n = thread; n < 256u; n += 64u) {
    let row = first + n / 8u;
    let d = chunk * 32u + n % 8u * 4u;
    var value = vec4<f32>(0.0);
    if (row < params.length && d < params.head_dim) {
      value = load_d_out(((b * params.length + row) * params.heads + head) * params.head_dim, d);
    }
    tile[slot * SLOT + n / 8u * LINE + n % 8u] = value;
  }
}

// The pair of tiles that a step works on.
struct Tiles {
  b: u32,
  query: u32,    // first query row
  head: u32,
  key: u32,      // first key row
  kv_head: u32,
}

// products += q . k and d_weights += d_out . v of a pair of tiles; the rows of the result are what goes to slot 0, queries or keys.
fn add_products(products: ptr<function, Scores>, d_weights: ptr<function, Scores>, tiles: Tiles, query_slot: u32, thread: u32) {
  let tx = thread % 8u;
  let ty = thread / 8u;
  for (var chunk = 0u; chunk < params.chunks; chunk += 1u) {
    workgroupBarrier();
    stage_q(query_slot, tiles.b, tiles.query, tiles.head, chunk, thread);
    stage_k(1u - query_slot, tiles.b, tiles.key, tiles.kv_head, chunk, thread);
    workgroupBarrier();
    add_scores(products, tx, ty);
    workgroupBarrier();
    stage_d_out(query_slot, tiles.b, tiles.query, tiles.head, chunk, thread);
    stage_v(1u - query_slot, tiles.b, tiles.key, tiles.kv_head, chunk, thread);
    workgroupBarrier();
    add_scores(d_weights, tx, ty);
  }
}

struct Weights {
  weight: vec4<f32>,     // p = e^(score - log_sum_exp), 0 where the query does not see the key
  d_product: vec4<f32>,  // gradient of q . k
}

fn weights_of(product: vec4<f32>, d_weight: vec4<f32>, log_sum_exp: vec4<f32>, delta: vec4<f32>, visible: vec4<bool>) -> Weights {
  let score = soft_cap(product * params.scale);
  let weight = select(vec4<f32>(0.0), weight_of(score - log_sum_exp), visible);
  return Weights(weight, params.scale * weight * (d_weight - delta) * soft_cap_slope(score));
}
