// d_v[u] = sum of p[t, u] * d_out[t] and d_k[u] = sum of ds[t, u] * q[t] over the rows t that see key u and the heads that share the
// key/value head; p and ds as in attention_backward_q.wgsl. One workgroup of 64 threads has 32 keys of one key/value head and walks over
// the group's heads and the query tiles that see it: nobody else writes these rows, so no atomics and one order of sums.
// Source: Dao 2023, arXiv:2307.08691. Joined behind attention_load_*.wgsl, attention_load_d_out_*.wgsl, soft_cap.wgsl,
// attention_tiles.wgsl, which has Params, and attention_backward_tiles.wgsl.
//   binding 0  read        q           (B*T, H*D) f32, vec4 where D is divisible by 4
//   binding 1  read        k           (B*T, Hkv*D) f32, vec4 where D is divisible by 4
//   binding 2  read        v           (B*T, Hkv*D) f32, vec4 where D is divisible by 4
//   binding 3  read        d_out       (B*T, H*D) f32, vec4 where D is divisible by 4
//   binding 4  read        statistics  (B*T, H) vec2<f32>: log_sum_exp, delta
//   binding 5  read_write  d_k         (B*T, Hkv*D) f32
//   binding 6  read_write  d_v         (B*T, Hkv*D) f32
//   binding 7  read        first_key   (B*T) u32; any buffer where packed is 0
//   binding 8  uniform     Params
// Grid: ceil(T / 32) * B * Hkv, folded on x and y; the first key tiles, which most queries see, first.

@group(0) @binding(4) var<storage, read> statistics: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> d_k: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_v: array<f32>;
@group(0) @binding(7) var<storage, read> first_key: array<u32>;
@group(0) @binding(8) var<uniform> params: Params;

var<workgroup> query_ends: array<u32, 64>;
var<workgroup> query_end: u32;

// Behind the last query row that sees one of the 32 keys from `first` on: by the window alone, or found among the rows' first keys.
fn query_end_of(b: u32, first: u32, thread: u32) -> u32 {
  let limit = select(params.length, min(params.length, first + TILE - 1u + params.window), params.window != 0u);
  if (params.packed == 0u) {
    return limit;
  }
  var end = 0u;
  for (var row = first + thread; row < limit; row += 64u) {
    if (lowest_key(b, row) < first + TILE) {
      end = row + 1u;
    }
  }
  query_ends[thread] = end;
  workgroupBarrier();
  if (thread == 0u) {
    for (var i = 1u; i < 64u; i += 1u) {
      end = max(end, query_ends[i]);
    }
    query_end = end;
  }
  return workgroupUniformLoad(&query_end);
}

const D_K: u32 = 0u;
const D_V: u32 = 1u;

fn write(result: u32, at: u32, value: f32) {
  if (result == D_K) {
    d_k[at] = value;
  } else {
    d_v[at] = value;
  }
}

// What the four query rows of a thread's columns bring along.
struct Queries {
  x: Query,
  y: Query,
  z: Query,
  w: Query,
}

fn weights_of_key(products: vec4<f32>, d_weights: vec4<f32>, queries: Queries, key: u32, columns: vec4<u32>) -> Weights {
  let lowest = vec4<u32>(queries.x.lowest, queries.y.lowest, queries.z.lowest, queries.w.lowest);
  let log_sum_exp = vec4<f32>(queries.x.log_sum_exp, queries.y.log_sum_exp, queries.z.log_sum_exp, queries.w.log_sum_exp);
  let delta = vec4<f32>(queries.x.delta, queries.y.delta, queries.z.delta, queries.w.delta);
  let visible = (vec4<u32>(key) >= lowest) & (vec4<u32>(key) <= columns);
  return weights_of(products, d_weights, log_sum_exp, delta, visible);
}

fn fetch_queries(b: u32, query: u32, head: u32, chunk: u32, thread: u32) -> Block {
  return Block(fetch_q(b, query, head, chunk, thread), fetch_q(b, query, head, chunk + 1u, thread));
}

fn fetch_d_outs(b: u32, query: u32, head: u32, chunk: u32, thread: u32) -> Block {
  return Block(fetch_d_out(b, query, head, chunk, thread), fetch_d_out(b, query, head, chunk + 1u, thread));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let launched = group.x + group.y * groups.x;
  if (launched >= params.groups) {
    return;
  }
  let index = params.first_group + launched;
  let all_heads = params.batch * params.kv_heads;
  let kv_head = index % all_heads % params.kv_heads;
  let b = index % all_heads / params.kv_heads;
  let first = index / all_heads * TILE;
  let group_heads = params.heads / params.kv_heads;
  let end = query_end_of(b, first, thread);
  let tx = thread % 8u;
  let ty = thread / 8u;

  let key = first + ty * 4u;  // this thread's first

  var d_k_blocks = Blocks();
  var d_v_blocks = Blocks();
  for (var head = kv_head * group_heads; head < (kv_head + 1u) * group_heads; head += 1u) {
    for (var query = first; query < end; query += TILE) {
      let products = products_of(Tiles(b, query, head, first, kv_head), 1u, thread);
      let d_outs = fetch_d_outs(b, query, head, 0u, thread);
      let columns = columns_of(query, tx);
      let queries = Queries(query_at(b, columns.x, head), query_at(b, columns.y, head), query_at(b, columns.z, head),
                            query_at(b, columns.w, head));
      let found0 = weights_of_key(products.scores[0], products.d_weights[0], queries, key, columns);
      let found1 = weights_of_key(products.scores[1], products.d_weights[1], queries, key + 1u, columns);
      let found2 = weights_of_key(products.scores[2], products.d_weights[2], queries, key + 2u, columns);
      let found3 = weights_of_key(products.scores[3], products.d_weights[3], queries, key + 3u, columns);
      store_weights(Four(found0.weight, found1.weight, found2.weight, found3.weight), tx, ty);
      d_v_blocks[0] = add_rows(d_v_blocks[0], d_outs, 0u, thread);
      if (CHUNKS > 2u) { d_v_blocks[1] = add_rows(d_v_blocks[1], fetch_d_outs(b, query, head, 2u, thread), 2u, thread); }
      if (CHUNKS > 4u) { d_v_blocks[2] = add_rows(d_v_blocks[2], fetch_d_outs(b, query, head, 4u, thread), 4u, thread); }
      if (CHUNKS > 6u) { d_v_blocks[3] = add_rows(d_v_blocks[3], fetch_d_outs(b, query, head, 6u, thread), 6u, thread); }
      workgroupBarrier();
      store_weights(Four(found0.d_product, found1.d_product, found2.d_product, found3.d_product), tx, ty);
      d_k_blocks[0] = add_rows(d_k_blocks[0], fetch_queries(b, query, head, 0u, thread), 0u, thread);
      if (CHUNKS > 2u) { d_k_blocks[1] = add_rows(d_k_blocks[1], fetch_queries(b, query, head, 2u, thread), 2u, thread); }
      if (CHUNKS > 4u) { d_k_blocks[2] = add_rows(d_k_blocks[2], fetch_queries(b, query, head, 4u, thread), 4u, thread); }
      if (CHUNKS > 6u) { d_k_blocks[3] = add_rows(d_k_blocks[3], fetch_queries(b, query, head, 6u, thread), 6u, thread); }
    }
  }
  let rows = Rows(b, first, params.kv_heads, kv_head);
  write_block(D_K, d_k_blocks[0], 0u, rows, thread);
  write_block(D_V, d_v_blocks[0], 0u, rows, thread);
  if (CHUNKS > 2u) {
    write_block(D_K, d_k_blocks[1], 2u, rows, thread);
    write_block(D_V, d_v_blocks[1], 2u, rows, thread);
  }
  if (CHUNKS > 4u) {
    write_block(D_K, d_k_blocks[2], 4u, rows, thread);
    write_block(D_V, d_v_blocks[2], 4u, rows, thread);
  }
  if (CHUNKS > 6u) {
    write_block(D_K, d_k_blocks[3], 6u, rows, thread);
    write_block(D_V, d_v_blocks[3], 6u, rows, thread);
  }
}
