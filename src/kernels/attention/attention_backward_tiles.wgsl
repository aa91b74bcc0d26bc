// What the two tiled kernels of the backward share: staging of d_out, and the weights of a tile with their gradients, computed again. The
// statistics of a query row are (log_sum_exp, delta), see attention_backward_delta.wgsl.

fn d_out_at(side: Side, row: u32, d: u32) -> vec4<f32> {
  let inside = is_inside(side, row, d);
  return select(vec4<f32>(0.0), load_d_out(row_start(side, row, inside), select(0u, d, inside)), inside);
}

fn fetch_d_out(b: u32, first: u32, head: u32, chunk: u32, thread: u32) -> Four {
  let side = query_side(b, head);
  let row = first + thread / 8u;
  let d = chunk * 32u + thread % 8u * 4u;
  return Four(d_out_at(side, row, d), d_out_at(side, row + 8u, d), d_out_at(side, row + 16u, d), d_out_at(side, row + 24u, d));
}

// The pair of tiles that a step works on.
struct Tiles {
  b: u32,
  query: u32,    // first query row
  head: u32,
  key: u32,      // first key row
  kv_head: u32,
}

struct Products {
  scores: Four,     // q . k
  d_weights: Four,  // d_out . v
}

// The products of a pair of tiles; the rows of the result are what goes to slot 0, queries or keys.
fn products_of(tiles: Tiles, query_slot: u32, thread: u32) -> Products {
  let tx = thread % 8u;
  let ty = thread / 8u;
  var scores = Four();
  var d_weights = Four();
  for (var chunk = 0u; chunk < params.chunks; chunk += 1u) {
    let q_rows = fetch_q(tiles.b, tiles.query, tiles.head, chunk, thread);
    let k_rows = fetch_k(tiles.b, tiles.key, tiles.kv_head, chunk, thread);
    workgroupBarrier();
    stage(query_slot, thread, q_rows);
    stage(1u - query_slot, thread, k_rows);
    workgroupBarrier();
    let d_out_rows = fetch_d_out(tiles.b, tiles.query, tiles.head, chunk, thread);
    let v_rows = fetch_v(tiles.b, tiles.key, tiles.kv_head, chunk, thread);
    scores = add_scores(scores, tx, ty);
    workgroupBarrier();
    stage(query_slot, thread, d_out_rows);
    stage(1u - query_slot, thread, v_rows);
    workgroupBarrier();
    d_weights = add_scores(d_weights, tx, ty);
  }
  return Products(scores, d_weights);
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

// What a query row brings along; none of it where there is no such row, whose lowest key is NO_KEY.
struct Query {
  lowest: u32,  // key that it sees
  log_sum_exp: f32,
  delta: f32,
}

fn query_at(b: u32, row: u32, head: u32) -> Query {
  let statistic = statistics[(b * params.length + min(row, params.length - 1u)) * params.heads + head];
  return Query(lowest_key(b, row), statistic.x, statistic.y);
}
