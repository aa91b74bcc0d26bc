// d_v[u] = sum of p[t, u] * d_out[t] and d_k[u] = scale * sum of ds[t, u] * q[t] on the matrix units, over the rows t that see key u and the
// heads that share the key/value head; ds as in attention_units_backward_q.wgsl, with p rounded to f16 too. One workgroup has 64 keys of
// one key/value head and walks over the group's heads and the query tiles that see it: nobody else writes these rows, so one order of
// sums. Scores are transposed: keys along the rows.
// Source: Dao 2023, arXiv:2307.08691. Joined behind attention_units_tiles.wgsl, which has Params, and attention_units_backward.wgsl; the
// slots hold 32 queries and their d_out.
//   binding 0  read        halves      f16: q, k, v and d_out (attention_halves.wgsl)
//   binding 1  read        vectors     the same as vec4<u32>, eight at a time
//   binding 2  read        inverses    [4] f32: what takes back the scales of q, k, v, d_out
//   binding 3  read        statistics  (B*T, H) vec2<f32>: log_sum_exp, delta
//   binding 4  read_write  d_k         (B*T, Hkv*D) f32
//   binding 5  read_write  d_v         (B*T, Hkv*D) f32
//   binding 6  read        first_key   (B*T) u32; any buffer where packed is 0
//   binding 7  uniform     Params
// Grid: P / 64 * B * Hkv, folded on x and y; the first key tiles, which most queries see, first.

@group(0) @binding(0) var<storage, read> halves: array<f16>;
@group(0) @binding(1) var<storage, read> vectors: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> inverses: array<f32>;
@group(0) @binding(3) var<storage, read> statistics: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> d_k: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_v: array<f32>;
@group(0) @binding(6) var<storage, read> first_key: array<u32>;
@group(0) @binding(7) var<uniform> params: Params;

var<workgroup> log_sum_exps: array<f32, COLUMNS>;
var<workgroup> deltas: array<f32, COLUMNS>;
var<workgroup> lowest_keys: array<u32, COLUMNS>;

const D_K: u32 = 0u;
const D_V: u32 = 1u;

fn write(result: u32, at: u32, value: f32) {
  if (result == D_K) {
    d_k[at] = value;
  } else {
    d_v[at] = value;
  }
}

// Behind the last query row that sees one of the 64 keys from `first` on: by the window alone, or found among the rows' first keys.
fn query_end_of(b: u32, first: u32, thread: u32) -> u32 {
  let limit = select(params.length, min(params.length, first + ROWS - 1u + params.window), params.window != 0u);
  if (params.packed == 0u) {
    return limit;
  }
  var end = 0u;
  for (var row = first + thread; row < limit; row += 128u) {
    if (lowest_key(b, row) < first + ROWS) {
      end = row + 1u;
    }
  }
  // Two threads a place, one after the other.
  if (thread < ROWS) {
    row_keys[thread] = end;
  }
  workgroupBarrier();
  if (thread >= ROWS) {
    row_keys[thread - ROWS] = max(row_keys[thread - ROWS], end);
  }
  workgroupBarrier();
  if (thread == 0u) {
    for (var i = 0u; i < ROWS; i += 1u) {
      end = max(end, row_keys[i]);
    }
    found_key.x = end;
  }
  return workgroupUniformLoad(&found_key).x;
}

fn weights_at(at: vec4<u32>, i: u32, lane: u32, back: f32) -> vec4<f32> {
  let c = columns_of(i, lane);
  return weights_of(at, i, back, vec4<f32>(log_sum_exps[c.x], log_sum_exps[c.y], log_sum_exps[c.z], log_sum_exps[c.w]));
}

// The weights p of the queries columns_of(i), zero where they do not see the key.
fn masked(p: vec4<f32>, i: u32, lane: u32, key: u32, first_query: u32) -> vec4<f32> {
  let c = columns_of(i, lane);
  let lowest = vec4<u32>(lowest_keys[c.x], lowest_keys[c.y], lowest_keys[c.z], lowest_keys[c.w]);
  return select(vec4<f32>(0.0), p, (vec4<u32>(key) >= lowest) & (vec4<u32>(key) <= vec4<u32>(first_query) + c));
}

fn d_scores(at: vec4<u32>, i: u32, lane: u32, p: vec4<f32>) -> vec4<f32> {
  let c = columns_of(i, lane);
  return p * slopes_of(at, i, vec4<f32>(deltas[c.x], deltas[c.y], deltas[c.z], deltas[c.w]));
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
  let all_heads = params.batch * params.kv_heads;
  let kv_head = index % all_heads % params.kv_heads;
  let b = index % all_heads / params.kv_heads;
  let first = index / all_heads * ROWS;
  let group_heads = params.heads / params.kv_heads;
  let end = query_end_of(b, first, thread);
  let row = first + subgroup * 16u;  // this subgroup's first key
  let key = row + lane / 2u;         // this lane's
  let known = scales();
  let k_place = params.k_start * 8u + ((b * params.kv_heads + kv_head) * params.padded + row) * WIDTH;
  let v_place = params.v_start * 8u + ((b * params.kv_heads + kv_head) * params.padded + row) * WIDTH;
  let area = subgroup * S_AREA;
  let p_area = subgroup * P_AREA;
  let s_at = s_place(subgroup, lane);
  let p_at = p_place(subgroup, lane);

  let k0 = subgroupMatrixLoad<Left>(&halves, k_place, false, WIDTH);
  let k1 = subgroupMatrixLoad<Left>(&halves, k_place + 16u, false, WIDTH);
  let k2 = subgroupMatrixLoad<Left>(&halves, k_place + 32u, false, WIDTH);
  let k3 = subgroupMatrixLoad<Left>(&halves, k_place + 48u, false, WIDTH);
  let v0 = subgroupMatrixLoad<Left>(&halves, v_place, false, WIDTH);
  let v1 = subgroupMatrixLoad<Left>(&halves, v_place + 16u, false, WIDTH);
  let v2 = subgroupMatrixLoad<Left>(&halves, v_place + 32u, false, WIDTH);
  let v3 = subgroupMatrixLoad<Left>(&halves, v_place + 48u, false, WIDTH);
  var dk0 = Sums();
  var dk1 = Sums();
  var dk2 = Sums();
  var dk3 = Sums();
  var dv0 = Sums();
  var dv1 = Sums();
  var dv2 = Sums();
  var dv3 = Sums();
  for (var head = kv_head * group_heads; head < (kv_head + 1u) * group_heads; head += 1u) {
    let q_start = (b * params.heads + head) * params.padded * VECTORS;
    let d_start = params.d_out_start + q_start;
    var q_next = fetch(q_start, first, thread);
    var d_next = fetch(d_start, first, thread);
    for (var query = first; query < end; query += COLUMNS) {
      put(0u, thread, q_next);
      put(SLOT, thread, d_next);
      if (thread < COLUMNS) {
        let brought = query_at(b, query + thread, head, known.delta);
        log_sum_exps[thread] = brought.log_sum_exp;
        deltas[thread] = brought.delta;
        lowest_keys[thread] = brought.lowest;
      }
      workgroupBarrier();
      q_next = fetch(q_start, min(query + COLUMNS, params.padded - COLUMNS), thread);
      d_next = fetch(d_start, min(query + COLUMNS, params.padded - COLUMNS), thread);
      let s0 = products(k0, k1, k2, k3, 0u);
      let s1 = products(k0, k1, k2, k3, 16u * LINE);
      subgroupMatrixStore(&staging, area, s0, false, S_LINE);
      subgroupMatrixStore(&staging, area + 16u, s1, false, S_LINE);
      workgroupBarrier();
      let p0 = masked(weights_at(s_at, 0u, lane, known.score), 0u, lane, key, query);
      let p1 = masked(weights_at(s_at, 1u, lane, known.score), 1u, lane, key, query);
      let p2 = masked(weights_at(s_at, 2u, lane, known.score), 2u, lane, key, query);
      let p3 = masked(weights_at(s_at, 3u, lane, known.score), 3u, lane, key, query);
      put_weights(p_at, 0u, p0);
      put_weights(p_at, 1u, p1);
      put_weights(p_at, 2u, p2);
      put_weights(p_at, 3u, p3);
      let t0 = products(v0, v1, v2, v3, SLOT);
      let t1 = products(v0, v1, v2, v3, SLOT + 16u * LINE);
      workgroupBarrier();
      subgroupMatrixStore(&staging, area, t0, false, S_LINE);
      subgroupMatrixStore(&staging, area + 16u, t1, false, S_LINE);
      let w0 = subgroupMatrixLoad<Left>(&weights, p_area, false, P_LINE);
      let w1 = subgroupMatrixLoad<Left>(&weights, p_area + 16u, false, P_LINE);
      dv0 = add_rows(w0, w1, SLOT, dv0);
      dv1 = add_rows(w0, w1, SLOT + 16u, dv1);
      dv2 = add_rows(w0, w1, SLOT + 32u, dv2);
      dv3 = add_rows(w0, w1, SLOT + 48u, dv3);
      workgroupBarrier();
      put_weights(p_at, 0u, d_scores(s_at, 0u, lane, p0));
      put_weights(p_at, 1u, d_scores(s_at, 1u, lane, p1));
      put_weights(p_at, 2u, d_scores(s_at, 2u, lane, p2));
      put_weights(p_at, 3u, d_scores(s_at, 3u, lane, p3));
      workgroupBarrier();
      let g0 = subgroupMatrixLoad<Left>(&weights, p_area, false, P_LINE);
      let g1 = subgroupMatrixLoad<Left>(&weights, p_area + 16u, false, P_LINE);
      dk0 = add_rows(g0, g1, 0u, dk0);
      dk1 = add_rows(g0, g1, 16u, dk1);
      dk2 = add_rows(g0, g1, 32u, dk2);
      dk3 = add_rows(g0, g1, 48u, dk3);
      workgroupBarrier();
    }
  }

  // The scales of d_out and v one after the other: their product may be outside f32.
  let k_factor = vec2<f32>(UP * inverses[3], inverses[2] * inverses[0] * params.scale);
  let v_factor = vec2<f32>(inverses[3], 1.0);
  let stride = params.kv_heads * params.head_dim;
  let at = (b * params.length + row) * stride + kv_head * params.head_dim;
  write_sums(D_K, dk0, dk1, area, lane, row, 0u, k_factor, at, stride);
  write_sums(D_K, dk2, dk3, area, lane, row, 32u, k_factor, at, stride);
  write_sums(D_V, dv0, dv1, area, lane, row, 0u, v_factor, at, stride);
  write_sums(D_V, dv2, dv3, area, lane, row, 32u, v_factor, at, stride);
}
