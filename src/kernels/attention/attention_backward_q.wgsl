// d_q[t] = sum of ds[t, u] * k[u] over the keys u that row t sees, ds = scale * p * (d_out[t].v[u] - delta[t]) * (1 - (s / cap)^2),
// p = exp(s - log_sum_exp[t]), s = scale * q[t].k[u] under the soft cap. One workgroup of 64 threads has 32 queries of one head.
// Source: Dao 2023, arXiv:2307.08691. Joined behind attention_load_*.wgsl, attention_load_d_out_*.wgsl, soft_cap.wgsl,
// attention_tiles.wgsl, which has Params, and attention_backward_tiles.wgsl.
//   binding 0  read        q           (B*T, H*D) f32, vec4 where D is divisible by 4
//   binding 1  read        k           (B*T, Hkv*D) f32, vec4 where D is divisible by 4
//   binding 2  read        v           (B*T, Hkv*D) f32, vec4 where D is divisible by 4
//   binding 3  read        d_out       (B*T, H*D) f32, vec4 where D is divisible by 4
//   binding 4  read        statistics  (B*T, H) vec2<f32>: log_sum_exp, delta
//   binding 5  read_write  d_q         (B*T, H*D) f32
//   binding 6  read        first_key   (B*T) u32; any buffer where packed is 0
//   binding 7  uniform     Params
// Grid: ceil(T / 32) * B * H, folded on x and y; the last query tiles first.

@group(0) @binding(4) var<storage, read> statistics: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> d_q: array<f32>;
@group(0) @binding(6) var<storage, read> first_key: array<u32>;
@group(0) @binding(7) var<uniform> params: Params;

fn write(result: u32, at: u32, value: f32) { d_q[at] = value; }

fn d_products(products: vec4<f32>, d_weights: vec4<f32>, query: Query, row: u32, columns: vec4<u32>) -> vec4<f32> {
  let visible = (columns >= vec4<u32>(query.lowest)) & (columns <= vec4<u32>(row));
  return weights_of(products, d_weights, vec4<f32>(query.log_sum_exp), vec4<f32>(query.delta), visible).d_product;
}

fn fetch_keys(b: u32, key: u32, kv_head: u32, chunk: u32, thread: u32) -> Block {
  return Block(fetch_k(b, key, kv_head, chunk, thread), fetch_k(b, key, kv_head, chunk + 1u, thread));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let launched = group.x + group.y * groups.x;
  if (launched >= params.groups) {
    return;
  }
  let index = params.first_group + launched;
  let all_heads = params.batch * params.heads;
  let head = index % all_heads % params.heads;
  let b = index % all_heads / params.heads;
  let kv_head = head / (params.heads / params.kv_heads);
  let first = ((params.length + TILE - 1u) / TILE - 1u - index / all_heads) * TILE;
  let seen = min(first + TILE, params.length);
  let tx = thread % 8u;
  let ty = thread / 8u;

  let row = first + ty * 4u;  // this thread's first

  let query0 = query_at(b, row, head);
  let query1 = query_at(b, row + 1u, head);
  let query2 = query_at(b, row + 2u, head);
  let query3 = query_at(b, row + 3u, head);
  var blocks = Blocks();
  for (var key = first_tile_of(b, first, thread); key < seen; key += TILE) {
    let products = products_of(Tiles(b, first, head, key, kv_head), 0u, thread);
    let keys = fetch_keys(b, key, kv_head, 0u, thread);
    let columns = columns_of(key, tx);
    store_weights(Four(d_products(products.scores[0], products.d_weights[0], query0, row, columns),
                       d_products(products.scores[1], products.d_weights[1], query1, row + 1u, columns),
                       d_products(products.scores[2], products.d_weights[2], query2, row + 2u, columns),
                       d_products(products.scores[3], products.d_weights[3], query3, row + 3u, columns)), tx, ty);
    blocks[0] = add_rows(blocks[0], keys, 0u, thread);
    if (CHUNKS > 2u) { blocks[1] = add_rows(blocks[1], fetch_keys(b, key, kv_head, 2u, thread), 2u, thread); }
    if (CHUNKS > 4u) { blocks[2] = add_rows(blocks[2], fetch_keys(b, key, kv_head, 4u, thread), 4u, thread); }
    if (CHUNKS > 6u) { blocks[3] = add_rows(blocks[3], fetch_keys(b, key, kv_head, 6u, thread), 6u, thread); }
  }
  let rows = Rows(b, first, params.heads, head);
  write_block(0u, blocks[0], 0u, rows, thread);
  if (CHUNKS > 2u) { write_block(0u, blocks[1], 2u, rows, thread); }
  if (CHUNKS > 4u) { write_block(0u, blocks[2], 4u, rows, thread); }
  if (CHUNKS > 6u) { write_block(0u, blocks[3], 6u, rows, thread); }
}
