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

  var lowest = vec4<u32>(0u);  // component r: row 4 ty + r
  var row_log_sum_exp = vec4<f32>(0.0);
  var row_delta = vec4<f32>(0.0);
  for (var r = 0u; r < 4u; r += 1u) {
    let row = first + ty * 4u + r;
    lowest[r] = lowest_key(b, row);
    if (row < params.length) {
      let of_row = statistics[(b * params.length + row) * params.heads + head];
      row_log_sum_exp[r] = of_row.x;
      row_delta[r] = of_row.y;
    }
  }
  var accumulator = Accumulator();
  for (var key = first_tile_of(b, first, thread); key < seen; key += TILE) {
    var scores = Scores();
    var d_weights = Scores();
    add_products(&scores, &d_weights, Tiles(b, first, head, key, kv_head), 0u, thread);
    let columns = columns_of(key, tx);
    for (var r = 0u; r < 4u; r += 1u) {
      let visible = (columns >= vec4<u32>(lowest[r])) & (columns <= vec4<u32>(first + ty * 4u + r));
      scores[r] = weights_of(scores[r], d_weights[r], vec4<f32>(row_log_sum_exp[r]), vec4<f32>(row_delta[r]), visible).d_product;
    }
    store_weights(&scores, tx, ty);
    for (var chunk = 0u; chunk < CHUNKS; chunk += 2u) {
      workgroupBarrier();
      stage_k(0u, b, key, kv_head, chunk, thread);
      if (chunk + 1u < CHUNKS) {
        stage_k(1u, b, key, kv_head, chunk + 1u, thread);
      }
      workgroupBarrier();
      add_rows(&accumulator, chunk, tx, ty);
    }
  }
  for (var chunk = 0u; chunk < CHUNKS; chunk += 1u) {
    workgroupBarrier();
    stage_result(&accumulator, vec4<f32>(1.0), chunk, tx, ty);
    workgroupBarrier();
    for (var n = thread; n < 1024u; n += 64u) {
      let element = element_of_result(n, b, first, params.heads, head, chunk);
      if (element != NOWHERE) {
        d_q[element] = staged_result(n);
      }
    }
  }
}
