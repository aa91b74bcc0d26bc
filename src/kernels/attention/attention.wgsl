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

fn sum_of(x: vec4<f32>) -> f32 {
  return x.x + x.y + x.z + x.w;
}

// Scores of a row's columns, MASKED where the row at `position` does not see the key.
fn masked_scores(products: vec4<f32>, columns: vec4<u32>, lowest: u32, position: u32) -> vec4<f32> {
  let visible = (columns >= vec4<u32>(lowest)) & (columns <= vec4<u32>(position));
  return select(vec4<f32>(MASKED), soft_cap(products * params.scale), visible);
}

// A row that has seen no key yet has MASKED as its largest score: what is masked weighs nothing, not e^0.
fn row_weights(scores: vec4<f32>, largest: f32) -> vec4<f32> {
  return select(vec4<f32>(0.0), weight_of(scores - vec4<f32>(largest)), scores > vec4<f32>(MASKED));
}

fn fetch_values(b: u32, key: u32, kv_head: u32, chunk: u32, thread: u32) -> Block {
  return Block(fetch_v(b, key, kv_head, chunk, thread), fetch_v(b, key, kv_head, chunk + 1u, thread));
}

fn write_log_sum_exp(b: u32, row: u32, head: u32, value: f32) {
  if (row < params.length) {
    log_sum_exp[(b * params.length + row) * params.heads + head] = value;
  }
}

fn write(result: u32, at: u32, value: f32) { out[at] = value; }

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
  let row = first + ty * 4u;                     // this thread's first
  let position = params.first_position + row;
  let lowest = vec4<u32>(lowest_key(b, row), lowest_key(b, row + 1u), lowest_key(b, row + 2u), lowest_key(b, row + 3u));

  var largest = vec4<f32>(MASKED);  // component r: row 4 ty + r
  var sum = vec4<f32>(0.0);         // over this thread's columns only
  var blocks = Blocks();
  for (var key = first_tile_of(b, first, thread); key < seen; key += TILE) {
    var products = Four();
    for (var chunk = 0u; chunk < params.chunks; chunk += 1u) {
      let q_rows = fetch_q(b, first, head, chunk, thread);
      let k_rows = fetch_k(b, key, kv_head, chunk, thread);
      workgroupBarrier();
      stage(0u, thread, q_rows);
      stage(1u, thread, k_rows);
      workgroupBarrier();
      products = add_scores(products, tx, ty);
    }
    let values = fetch_values(b, key, kv_head, 0u, thread);
    let columns = columns_of(key, tx);
    let scores0 = masked_scores(products[0], columns, lowest.x, position);
    let scores1 = masked_scores(products[1], columns, lowest.y, position + 1u);
    let scores2 = masked_scores(products[2], columns, lowest.z, position + 2u);
    let scores3 = masked_scores(products[3], columns, lowest.w, position + 3u);
    reduction[thread] = vec4<f32>(largest_of(scores0), largest_of(scores1), largest_of(scores2), largest_of(scores3));
    workgroupBarrier();
    var grown = largest;
    for (var i = 0u; i < params.line; i += 1u) {
      grown = max(grown, reduction[ty * 8u + i]);
    }
    let correction = weight_of(largest - grown);
    largest = grown;
    let found = Four(row_weights(scores0, largest.x), row_weights(scores1, largest.y), row_weights(scores2, largest.z),
                     row_weights(scores3, largest.w));
    sum = fma(sum, correction, vec4<f32>(sum_of(found[0]), sum_of(found[1]), sum_of(found[2]), sum_of(found[3])));
    store_weights(found, tx, ty);
    blocks[0] = add_rows(scaled_block(blocks[0], correction), values, 0u, thread);
    if (CHUNKS > 2u) {
      blocks[1] = add_rows(scaled_block(blocks[1], correction), fetch_values(b, key, kv_head, 2u, thread), 2u, thread);
    }
    if (CHUNKS > 4u) {
      blocks[2] = add_rows(scaled_block(blocks[2], correction), fetch_values(b, key, kv_head, 4u, thread), 4u, thread);
    }
    if (CHUNKS > 6u) {
      blocks[3] = add_rows(scaled_block(blocks[3], correction), fetch_values(b, key, kv_head, 6u, thread), 6u, thread);
    }
  }

  reduction[thread] = sum;
  workgroupBarrier();
  var total = vec4<f32>(0.0);
  for (var i = 0u; i < params.line; i += 1u) {
    total += reduction[ty * 8u + i];
  }
  total = max(total, vec4<f32>(1e-30));  // of a row that sees a key it is 1 or more
  let result = largest + log(total);
  if (tx == 0u) {
    write_log_sum_exp(b, row, head, result.x);
    write_log_sum_exp(b, row + 1u, head, result.y);
    write_log_sum_exp(b, row + 2u, head, result.z);
    write_log_sum_exp(b, row + 3u, head, result.w);
  }
  let rows = Rows(b, first, params.heads, head);
  write_block(0u, scaled_block(blocks[0], 1.0 / total), 0u, rows, thread);
  if (CHUNKS > 2u) { write_block(0u, scaled_block(blocks[1], 1.0 / total), 2u, rows, thread); }
  if (CHUNKS > 4u) { write_block(0u, scaled_block(blocks[2], 1.0 / total), 4u, rows, thread); }
  if (CHUNKS > 6u) { write_block(0u, scaled_block(blocks[3], 1.0 / total), 6u, rows, thread); }
}
