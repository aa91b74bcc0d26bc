// d_q[t] = scale * sum of ds[t, u] * k[u] on the matrix units, ds = p * (d_out[t].v[u] - delta[t]): factors, and ds, rounded to f16, sums
// in f32. One workgroup has 64 queries of one head.
// Source: Dao 2023, arXiv:2307.08691. Joined behind attention_units_tiles.wgsl, which has Params, and attention_units_backward.wgsl; the
// slots hold 32 keys and their values.
//   binding 0  read        halves      f16: q, k, v and d_out (attention_halves.wgsl)
//   binding 1  read        vectors     the same as vec4<u32>, eight at a time
//   binding 2  read        inverses    [4] f32: what takes back the scales of q, k, v, d_out
//   binding 3  read        statistics  (B*T, H) vec2<f32>: log_sum_exp, delta
//   binding 4  read_write  d_q         (B*T, H*D) f32
//   binding 5  read        first_key   (B*T) u32; any buffer where packed is 0
//   binding 6  uniform     Params
// Grid: P / 64 * B * H, folded on x and y; the last query tiles, which see the most keys, first.

@group(0) @binding(0) var<storage, read> halves: array<f16>;
@group(0) @binding(1) var<storage, read> vectors: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> inverses: array<f32>;
@group(0) @binding(3) var<storage, read> statistics: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> d_q: array<f32>;
@group(0) @binding(5) var<storage, read> first_key: array<u32>;
@group(0) @binding(6) var<uniform> params: Params;

fn write(result: u32, at: u32, value: f32) { d_q[at] = value; }

// The weights p of columns columns_of(i), zero where the row does not see them.
fn masked(p: vec4<f32>, i: u32, lane: u32, key: u32, position: u32, lowest: u32) -> vec4<f32> {
  let columns = vec4<u32>(key) + columns_of(i, lane);
  return select(vec4<f32>(0.0), p, (columns >= vec4<u32>(lowest)) & (columns <= vec4<u32>(position)));
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let launched = group.x + group.y * groups.x;
  if (launched >= params.groups) {
    return;
  }
  let index = params.first_group + launched;
  let all_heads = params.batch * params.heads;
  let head = index % all_heads % params.heads;
  let b = index % all_heads / params.heads;
  let kv_head = b * params.kv_heads + head / (params.heads / params.kv_heads);
  let first = (params.padded / ROWS - 1u - index / all_heads) * ROWS;
  let seen = min(first + ROWS, params.length);  // keys up to the last row's
  let row = first + subgroup * 16u;             // this subgroup's first
  let position = row + lane / 2u;               // this lane's row
  let known = scales();
  let query = query_at(b, position, head, known.delta);
  let log_sum_exp = vec4<f32>(query.log_sum_exp);
  let delta = vec4<f32>(query.delta);
  let k_start = params.k_start + kv_head * params.padded * VECTORS;
  let v_start = params.v_start + kv_head * params.padded * VECTORS;
  let q_place = ((b * params.heads + head) * params.padded + row) * WIDTH;
  let d_place = params.d_out_start * 8u + q_place;
  let area = subgroup * S_AREA;
  let p_area = subgroup * P_AREA;
  let s_at = s_place(subgroup, lane);
  let p_at = p_place(subgroup, lane);

  let q0 = subgroupMatrixLoad<Left>(&halves, q_place, false, WIDTH);
  let q1 = subgroupMatrixLoad<Left>(&halves, q_place + 16u, false, WIDTH);
  let q2 = subgroupMatrixLoad<Left>(&halves, q_place + 32u, false, WIDTH);
  let q3 = subgroupMatrixLoad<Left>(&halves, q_place + 48u, false, WIDTH);
  let d0 = subgroupMatrixLoad<Left>(&halves, d_place, false, WIDTH);
  let d1 = subgroupMatrixLoad<Left>(&halves, d_place + 16u, false, WIDTH);
  let d2 = subgroupMatrixLoad<Left>(&halves, d_place + 32u, false, WIDTH);
  let d3 = subgroupMatrixLoad<Left>(&halves, d_place + 48u, false, WIDTH);
  var o0 = Sums();
  var o1 = Sums();
  var o2 = Sums();
  var o3 = Sums();
  var key = first_tile_of(b, first, thread);
  var k_next = fetch(k_start, min(key, params.padded - COLUMNS), thread);
  var v_next = fetch(v_start, min(key, params.padded - COLUMNS), thread);
  for (; key < seen; key += COLUMNS) {
    put(0u, thread, k_next);
    put(SLOT, thread, v_next);
    workgroupBarrier();
    k_next = fetch(k_start, min(key + COLUMNS, params.padded - COLUMNS), thread);
    v_next = fetch(v_start, min(key + COLUMNS, params.padded - COLUMNS), thread);
    let s0 = products(q0, q1, q2, q3, 0u);
    let s1 = products(q0, q1, q2, q3, 16u * LINE);
    subgroupMatrixStore(&staging, area, s0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, s1, false, S_LINE);
    workgroupBarrier();
    var p0 = weights_of(s_at, 0u, known.score, log_sum_exp);
    var p1 = weights_of(s_at, 1u, known.score, log_sum_exp);
    var p2 = weights_of(s_at, 2u, known.score, log_sum_exp);
    var p3 = weights_of(s_at, 3u, known.score, log_sum_exp);
    if (key < query.lowest || key + COLUMNS - 1u > position) {
      p0 = masked(p0, 0u, lane, key, position, query.lowest);
      p1 = masked(p1, 1u, lane, key, position, query.lowest);
      p2 = masked(p2, 2u, lane, key, position, query.lowest);
      p3 = masked(p3, 3u, lane, key, position, query.lowest);
    }
    let t0 = products(d0, d1, d2, d3, SLOT);
    let t1 = products(d0, d1, d2, d3, SLOT + 16u * LINE);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, t0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, t1, false, S_LINE);
    workgroupBarrier();
    put_weights(p_at, 0u, d_scores_of(s_at, 0u, p0, delta));
    put_weights(p_at, 1u, d_scores_of(s_at, 1u, p1, delta));
    put_weights(p_at, 2u, d_scores_of(s_at, 2u, p2, delta));
    put_weights(p_at, 3u, d_scores_of(s_at, 3u, p3, delta));
    workgroupBarrier();
    let w0 = subgroupMatrixLoad<Left>(&weights, p_area, false, P_LINE);
    let w1 = subgroupMatrixLoad<Left>(&weights, p_area + 16u, false, P_LINE);
    o0 = add_rows(w0, w1, 0u, o0);
    o1 = add_rows(w0, w1, 16u, o1);
    o2 = add_rows(w0, w1, 32u, o2);
    o3 = add_rows(w0, w1, 48u, o3);
    workgroupBarrier();
  }

  // The scales of d_out and v one after the other: their product may be outside f32.
  let factor = vec2<f32>(UP * inverses[3], inverses[2] * inverses[1] * params.scale);
  let stride = params.heads * params.head_dim;
  let at = (b * params.length + row) * stride + head * params.head_dim;
  write_sums(0u, o0, o1, area, lane, row, 0u, factor, at, stride);
  write_sums(0u, o2, o3, area, lane, row, 32u, factor, at, stride);
}
