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

  var sum_d_k = Accumulator();
  var sum_d_v = Accumulator();
  for (var head = kv_head * group_heads; head < (kv_head + 1u) * group_heads; head += 1u) {
    for (var query = first; query < end; query += TILE) {
      var scores = Scores();
      var d_weights = Scores();
      add_products(&scores, &d_weights, Tiles(b, query, head, first, kv_head), 1u, thread);
      let columns = columns_of(query, tx);
      var lowest = vec4<u32>(0u);
      var column_log_sum_exp = vec4<f32>(0.0);
      var column_delta = vec4<f32>(0.0);
      for (var c = 0u; c < 4u; c += 1u) {
        lowest[c] = lowest_key(b, columns[c]);  // NO_KEY behind the last query
        if (columns[c] < params.length) {
          let of_column = statistics[(b * params.length + columns[c]) * params.heads + head];
          column_log_sum_exp[c] = of_column.x;
          column_delta[c] = of_column.y;
        }
      }
      for (var r = 0u; r < 4u; r += 1u) {
        let key = vec4<u32>(first + ty * 4u + r);
        let visible = (key >= lowest) & (key <= columns);
        let found = weights_of(scores[r], d_weights[r], column_log_sum_exp, column_delta, visible);
        scores[r] = found.weight;
        d_weights[r] = found.d_product;
      }
      store_weights(&scores, tx, ty);
      for (var chunk = 0u; chunk < CHUNKS; chunk += 2u) {
        workgroupBarrier();
        stage_d_out(0u, b, query, head, chunk, thread);
        if (chunk + 1u < CHUNKS) {
          stage_d_out(1u, b, query, head, chunk + 1u, thread);
        }
        workgroupBarrier();
        add_rows(&sum_d_v, chunk, tx, ty);
      }
      workgroupBarrier();
      store_weights(&d_weights, tx, ty);
      for (var chunk = 0u; chunk < CHUNKS; chunk += 2u) {
        workgroupBarrier();
        stage_q(0u, b, query, head, chunk, thread);
        if (chunk + 1u < CHUNKS) {
          stage_q(1u, b, query, head, chunk + 1u, thread);
        }
        workgroupBarrier();
        add_rows(&sum_d_k, chunk, tx, ty);
      }
    }
  }
  for (var chunk = 0u; chunk < CHUNKS; chunk += 1u) {
    workgroupBarrier();
    stage_result(&sum_d_k, vec4<f32>(1.0), chunk, tx, ty);
    workgroupBarrier();
    for (var n = thread; n < 1024u; n += 64u) {
      let element = element_of_result(n, b, first, params.kv_heads, kv_head, chunk);
      if (element != NOWHERE) {
        d_k[element] = staged_result(n);
      }
    }
  }
  for (var chunk = 0u; chunk < CHUNKS; chunk += 1u) {
    workgroupBarrier();
    stage_result(&sum_d_v, vec4<f32>(1.0), chunk, tx, ty);
    workgroupBarrier();
    for (var n = thread; n < 1024u; n += 64u) {
      let element = element_of_result(n, b, first, params.kv_heads, kv_head, chunk);
      if (element != NOWHERE) {
        d_v[element] = staged_result(n);
      }
    }
  }
}
