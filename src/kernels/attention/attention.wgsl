// out[t] = sum of softmax_u(scale * q[t].k[u]) * v[u] over the keys u that row t sees: up to its own position, within the window, and
// not before first_key[t]. An online softmax over tiles of keys; no matrix of weights is kept. One workgroup of 64 threads has 32 queries
// of one head; head h reads key/value head h / (H / Hkv). A row that sees no key gives zeros and a log_sum_exp of -3e38.
// Sources: Milakov and Gimelshein 2018, arXiv:1805.02867; Dao 2023, arXiv:2307.08691. Joined behind attention_load_*.wgsl,
// soft_cap.wgsl and attention_tiles.wgsl, which has Params.
//   binding 0  read        q            (B*T, H*D) f32, vec4 where D is divisible by 4
//   binding 1  read        k            (B*key_rows, Hkv*D) f32, vec4 where D is divisible by 4
//   binding 2  read        v            (B*key_rows, Hkv*D) f32, vec4 where D is divisible by 4
//   binding 3  read_write  out          (B*T, H*D) f32
//   binding 4  read_write  log_sum_exp  (B*T, H) f32
//   binding 5  read        first_key    (B*T) u32; any buffer where packed is 0
//   binding 6  uniform     Params
// Grid: ceil(T / 32) * B * H, folded on x and y; the last query tiles, which see the most keys, first.

@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(5) var<storage, read> first_key: array<u32>;
@group(0) @binding(6) var<uniform> params: Params;

fn largest_of(x: vec4<f32>) -> f32 {
  return max(max(x.x, x.y), max(x.z, x.w));
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
  let seen = params.first_position + min(first + TILE, params.length);  // keys up to the last row's
  let tx = thread % 8u;
  let ty = thread / 8u;
  let position = params.first_position + first + ty * 4u;  // of this thread's first row
  var lowest = vec4<u32>(0u);
  for (var r = 0u; r < 4u; r += 1u) {
    lowest[r] = lowest_key(b, first + ty * 4u + r);
  }

  var largest = vec4<f32>(MASKED);  // component r: row 4 ty + r
  var sum = vec4<f32>(0.0);         // over this thread's columns only
  var accumulator = Accumulator();
  for (var key = first_tile_of(b, first, thread); key < seen; key += TILE) {
    var scores = Scores();
    for (var chunk = 0u; chunk < params.chunks; chunk += 1u) {
      workgroupBarrier();
      stage_q(0u, b, first, head, chunk, thread);
      stage_k(1u, b, key, kv_head, chunk, thread);
      workgroupBarrier();
      add_scores(&scores, tx, ty);
    }
    let columns = columns_of(key, tx);
    var tile_largest = vec4<f32>(0.0);
    for (var r = 0u; r < 4u; r += 1u) {
      let visible = (columns >= vec4<u32>(lowest[r])) & (columns <= vec4<u32>(position + r));
      scores[r] = select(vec4<f32>(MASKED), soft_cap(scores[r] * params.scale), visible);
      tile_largest[r] = largest_of(scores[r]);
    }
    reduction[thread] = tile_largest;
    workgroupBarrier();
    for (var i = 0u; i < params.line; i += 1u) {
      tile_largest = max(tile_largest, reduction[ty * 8u + i]);
    }
    let grown = max(largest, tile_largest);
    let correction = weight_of(largest - grown);
    largest = grown;
    sum *= correction;
    for (var r = 0u; r < 4u; r += 1u) {
      // A row that has seen no key yet has MASKED as its largest score: what is masked weighs nothing, not e^0.
      let weight = weight_of(scores[r] - vec4<f32>(largest[r]));
      scores[r] = select(vec4<f32>(0.0), weight, scores[r] > vec4<f32>(MASKED));
      sum[r] += scores[r].x + scores[r].y + scores[r].z + scores[r].w;
    }
    store_weights(&scores, tx, ty);
    for (var c = 0u; c < CHUNKS; c += 1u) {
      for (var r = 0u; r < 4u; r += 1u) {
        accumulator[c * 4u + r] *= correction[r];
      }
    }
    for (var chunk = 0u; chunk < CHUNKS; chunk += 2u) {
      workgroupBarrier();
      stage_v(0u, b, key, kv_head, chunk, thread);
      if (chunk + 1u < CHUNKS) {
        stage_v(1u, b, key, kv_head, chunk + 1u, thread);
      }
      workgroupBarrier();
      add_rows(&accumulator, chunk, tx, ty);
    }
  }

  reduction[thread] = sum;
  workgroupBarrier();
  var total = vec4<f32>(0.0);
  for (var i = 0u; i < params.line; i += 1u) {
    total += reduction[ty * 8u + i];
  }
  total = max(total, vec4<f32>(1e-30));  // of a row that sees a key it is 1 or more
  for (var r = 0u; r < 4u; r += 1u) {
    let row = first + ty * 4u + r;
    if (tx == 0u && row < params.length) {
      log_sum_exp[(b * params.length + row) * params.heads + head] = largest[r] + log(total[r]);
    }
  }
  for (var chunk = 0u; chunk < CHUNKS; chunk += 1u) {
    workgroupBarrier();
    stage_result(&accumulator, 1.0 / total, chunk, tx, ty);
    workgroupBarrier();
    for (var n = thread; n < 1024u; n += 64u) {
      let element = element_of_result(n, b, first, params.heads, head, chunk);
      if (element != NOWHERE) {
        out[element] = staged_result(n);
      }
    }
  }
}
