// out[t] = sum of softmax_u(scale * q[t].k[u]) * v[u] on the matrix units: factors and weights rounded to f16, sums in f32. An online
// softmax whose result is only scaled anew when a row's largest score has grown by more than 2^8 since the last time: until then its
// weights are up to 2^8, which f16 holds. One workgroup has 64 queries of one head; head h reads key/value head h / (H / Hkv). Scores are
// in powers of two. A row that sees no key gives zeros and a log_sum_exp of -3e38.
// Source: Dao 2023, arXiv:2307.08691; to scale late is FlashAttention-4's (2025).
// Joined with attention_units_tiles.wgsl, which has Params; its one slot holds 32 keys, then their values.
//   binding 0  read        halves       f16: q, k and v (attention_halves.wgsl)
//   binding 1  read        vectors      the same as vec4<u32>, eight at a time
//   binding 2  read        inverses     [4] f32: what takes back the scales of q, k, v
//   binding 3  read_write  out          (B*T, H*D) f32
//   binding 4  read_write  log_sum_exp  (B*T, H) f32
//   binding 5  read        first_key    (B*T) u32; any buffer where packed is 0
//   binding 6  uniform     Params
// Grid: P / 64 * B * H, folded on x and y; the last query tiles, which see the most keys, first.

@group(0) @binding(0) var<storage, read> halves: array<f16>;
@group(0) @binding(1) var<storage, read> vectors: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> inverses: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(5) var<storage, read> first_key: array<u32>;
@group(0) @binding(6) var<uniform> params: Params;

const LATE: f32 = 8.0;

var<workgroup> has_grown: array<u32, 4>;  // of a subgroup: a row's largest score, so much that the result is scaled anew

fn write(result: u32, at: u32, value: f32) { out[at] = value; }

fn largest_of(x: vec4<f32>) -> f32 {
  return max(max(x.x, x.y), max(x.z, x.w));
}

fn sum_of(x: vec4<f32>) -> f32 {
  return x.x + x.y + x.z + x.w;
}

// A lane's scores of four columns, MASKED where its row does not see them.
fn scores(at: vec4<u32>, i: u32, lane: u32, key: u32, lowest: u32, position: u32, back: vec3<f32>) -> vec4<f32> {
  let columns = vec4<u32>(key) + columns_of(i, lane);
  let visible = (columns >= vec4<u32>(lowest)) & (columns <= vec4<u32>(position));
  return select(vec4<f32>(MASKED), staged(at, i) * back.x * back.y * back.z, visible);
}

fn weights_of(score: vec4<f32>, largest: f32) -> vec4<f32> {
  return select(vec4<f32>(0.0), exp2(score - vec4<f32>(largest)), score > vec4<f32>(MASKED));
}

fn scale_staged(area: u32, lane: u32, factor: f32) {
  for (var r = 0u; r < 16u; r += 1u) {
    staging[area + r * S_LINE + lane] *= subgroupShuffle(factor, 2u * r);
  }
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
  let lowest = lowest_key(b, position);
  let back = vec3<f32>(inverses[0], inverses[1], params.scale * LOG2_E);
  let k_start = params.k_start + kv_head * params.padded * VECTORS;
  let v_start = params.v_start + kv_head * params.padded * VECTORS;
  let q_place = ((b * params.heads + head) * params.padded + row) * WIDTH;
  let area = subgroup * S_AREA;
  let p_area = subgroup * P_AREA;
  let s_at = s_place(subgroup, lane);
  let p_at = p_place(subgroup, lane);

  let q0 = subgroupMatrixLoad<Left>(&halves, q_place, false, WIDTH);
  let q1 = subgroupMatrixLoad<Left>(&halves, q_place + 16u, false, WIDTH);
  let q2 = subgroupMatrixLoad<Left>(&halves, q_place + 32u, false, WIDTH);
  let q3 = subgroupMatrixLoad<Left>(&halves, q_place + 48u, false, WIDTH);
  var o0 = Sums();
  var o1 = Sums();
  var o2 = Sums();
  var o3 = Sums();
  var largest = MASKED;  // what the row's weights are relative to
  var sum = 0.0;         // of them, over this lane's columns only
  var key = first_tile_of(b, first, thread);
  var next = fetch(k_start, min(key, params.padded - COLUMNS), thread);
  for (; key < seen; key += COLUMNS) {
    put(0u, thread, next);
    workgroupBarrier();
    next = fetch(v_start, key, thread);
    let s0 = products(q0, q1, q2, q3, 0u);
    let s1 = products(q0, q1, q2, q3, 16u * LINE);
    subgroupMatrixStore(&staging, area, s0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, s1, false, S_LINE);
    workgroupBarrier();
    put(0u, thread, next);
    next = fetch(k_start, min(key + COLUMNS, params.padded - COLUMNS), thread);
    let x0 = scores(s_at, 0u, lane, key, lowest, position, back);
    let x1 = scores(s_at, 1u, lane, key, lowest, position, back);
    let x2 = scores(s_at, 2u, lane, key, lowest, position, back);
    let x3 = scores(s_at, 3u, lane, key, lowest, position, back);
    let here = largest_of(max(max(x0, x1), max(x2, x3)));
    let grown = max(largest, max(here, subgroupShuffleXor(here, 1u)));
    let has_begun = largest > MASKED;
    let is_late = has_begun && grown > largest + LATE;
    let correction = select(1.0, exp2(largest - grown), is_late);
    largest = select(grown, largest, has_begun && !is_late);
    let p0 = weights_of(x0, largest);
    let p1 = weights_of(x1, largest);
    let p2 = weights_of(x2, largest);
    let p3 = weights_of(x3, largest);
    sum = sum * correction + sum_of((p0 + p1) + (p2 + p3));
    put_weights(p_at, 0u, p0);
    put_weights(p_at, 1u, p1);
    put_weights(p_at, 2u, p2);
    put_weights(p_at, 3u, p3);
    let any_late = subgroupAny(is_late);
    if (lane == 0u) {
      has_grown[subgroup] = select(0u, 1u, any_late);
    }
    let late = workgroupUniformLoad(&has_grown);
    if ((late[0] | late[1] | late[2] | late[3]) != 0u) {
      subgroupMatrixStore(&staging, area, o0, false, S_LINE);
      subgroupMatrixStore(&staging, area + 16u, o1, false, S_LINE);
      workgroupBarrier();
      scale_staged(area, lane, correction);
      workgroupBarrier();
      o0 = subgroupMatrixLoad<Sums>(&staging, area, false, S_LINE);
      o1 = subgroupMatrixLoad<Sums>(&staging, area + 16u, false, S_LINE);
      workgroupBarrier();
      subgroupMatrixStore(&staging, area, o2, false, S_LINE);
      subgroupMatrixStore(&staging, area + 16u, o3, false, S_LINE);
      workgroupBarrier();
      scale_staged(area, lane, correction);
      workgroupBarrier();
      o2 = subgroupMatrixLoad<Sums>(&staging, area, false, S_LINE);
      o3 = subgroupMatrixLoad<Sums>(&staging, area + 16u, false, S_LINE);
    }
    let w0 = subgroupMatrixLoad<Left>(&weights, p_area, false, P_LINE);
    let w1 = subgroupMatrixLoad<Left>(&weights, p_area + 16u, false, P_LINE);
    o0 = add_rows(w0, w1, 0u, o0);
    o1 = add_rows(w0, w1, 16u, o1);
    o2 = add_rows(w0, w1, 32u, o2);
    o3 = add_rows(w0, w1, 48u, o3);
    workgroupBarrier();
  }

  let total = sum + subgroupShuffleXor(sum, 1u);
  if (lane % 2u == 0u && position < params.length) {
    let result = select(MASKED, largest / LOG2_E + log(max(total, 1e-30)), largest > MASKED);
    log_sum_exp[(b * params.length + position) * params.heads + head] = result;
  }
  let factor = vec2<f32>(select(0.0, 1.0 / max(total, 1e-30), largest > MASKED), inverses[2]);
  let stride = params.heads * params.head_dim;
  let at = (b * params.length + row) * stride + head * params.head_dim;
  subgroupMatrixStore(&staging, area, o0, false, S_LINE);
  subgroupMatrixStore(&staging, area + 16u, o1, false, S_LINE);
  workgroupBarrier();
  write_rows(0u, area, lane, row, 0u, factor, at, stride);
  workgroupBarrier();
  subgroupMatrixStore(&staging, area, o2, false, S_LINE);
  subgroupMatrixStore(&staging, area + 16u, o3, false, S_LINE);
  workgroupBarrier();
  write_rows(0u, area, lane, row, 32u, factor, at, stride);
}
