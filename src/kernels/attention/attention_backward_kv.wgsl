// d_v[u] = sum over t >= u of p[t, u] * d_out[t] and d_k[u] = sum of ds[t, u] * q[t], over the heads that share the key/value head;
// p and ds as in attention_backward_q.wgsl. One workgroup of 64 threads has 32 keys of one key/value head and walks over the group's
// heads and the query tiles that see it: nobody else writes these rows, so no atomics and one order of sums.
// Source: Dao 2023, arXiv:2307.08691. Joined behind attention_load_*.wgsl, attention_load_d_out_*.wgsl, attention_tiles.wgsl and
// attention_backward_tiles.wgsl.
//   binding 0  read        q           (B*T, H*D) f32, vec4 where D is divisible by 4
//   binding 1  read        k           (B*T, Hkv*D)
//   binding 2  read        v           (B*T, Hkv*D)
//   binding 3  read        d_out       (B*T, H*D)
//   binding 4  read        statistics  (B*T, H) vec2<f32>: log_sum_exp, delta
//   binding 5  read_write  d_k         (B*T, Hkv*D) f32
//   binding 6  read_write  d_v         (B*T, Hkv*D) f32
//   binding 7  uniform     Params
// Grid: ceil(T / 32) * B * Hkv, folded on x and y; the first key tiles, which most queries see, first.

@group(0) @binding(4) var<storage, read> statistics: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> d_k: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_v: array<f32>;
@group(0) @binding(7) var<uniform> params: Params;

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
  let tx = thread % 8u;
  let ty = thread / 8u;

  var sum_d_k = Accumulator();
  var sum_d_v = Accumulator();
  for (var head = kv_head * group_heads; head < (kv_head + 1u) * group_heads; head += 1u) {
    for (var query = first; query < params.length; query += TILE) {
      var scores = Scores();
      var d_weights = Scores();
      for (var chunk = 0u; chunk < params.chunks; chunk += 1u) {
        workgroupBarrier();
        stage_k(0u, b, first, kv_head, chunk, thread);
        stage_q(1u, b, query, head, chunk, thread);
        workgroupBarrier();
        add_scores(&scores, tx, ty);
        workgroupBarrier();
        stage_v(0u, b, first, kv_head, chunk, thread);
        stage_d_out(1u, b, query, head, chunk, thread);
        workgroupBarrier();
        add_scores(&d_weights, tx, ty);
      }
      let columns = vec4<u32>(query + tx) + vec4<u32>(0u, 8u, 16u, 24u);
      var column_log_sum_exp = vec4<f32>(0.0);
      var column_delta = vec4<f32>(0.0);
      for (var c = 0u; c < 4u; c += 1u) {
        if (columns[c] < params.length) {
          let of_column = statistics[(b * params.length + columns[c]) * params.heads + head];
          column_log_sum_exp[c] = of_column.x;
          column_delta[c] = of_column.y;
        }
      }
      for (var r = 0u; r < 4u; r += 1u) {
        let visible = (columns >= vec4<u32>(first + ty * 4u + r)) & (columns < vec4<u32>(params.length));
        let weight = weight_of(scores[r] * params.scale - column_log_sum_exp);
        scores[r] = select(vec4<f32>(0.0), weight, visible);
        d_weights[r] = params.scale * scores[r] * (d_weights[r] - column_delta);
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
      let row = first + n / 32u;
      let d = chunk * 32u + n % 32u;
      if (row < params.length && d < params.head_dim) {
        d_k[((b * params.length + row) * params.kv_heads + kv_head) * params.head_dim + d] = tile[n / 32u * LINE + n % 32u / 4u][n % 4u];
      }
    }
  }
  for (var chunk = 0u; chunk < CHUNKS; chunk += 1u) {
    workgroupBarrier();
    stage_result(&sum_d_v, vec4<f32>(1.0), chunk, tx, ty);
    workgroupBarrier();
    for (var n = thread; n < 1024u; n += 64u) {
      let row = first + n / 32u;
      let d = chunk * 32u + n % 32u;
      if (row < params.length && d < params.head_dim) {
        d_v[((b * params.length + row) * params.kv_heads + kv_head) * params.head_dim + d] = tile[n / 32u * LINE + n % 32u / 4u][n % 4u];
      }
    }
  }
}
