// out[t] = sum of softmax_u(scale * q[t].k[u]) * v[u] on the matrix units: factors and weights rounded to f16, sums in f32. An online
// softmax whose result is only scaled anew when a row's largest score has grown by more than 2^8 since the last time: until then its
// weights are up to 2^8, which f16 holds. One workgroup has 64 queries of one head, a subgroup 32 of them: the first 16 (a) and the others (b)
// take turns in its places of scores and weights; head h reads key/value head h / (H / Hkv). Scores are
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

// A lane's row of queries, of which it has every other column.
struct Row {
  position: u32,
  lowest: u32,      // the first key that it sees
  largest: f32,     // what the weights so far are relative to
  sum: f32,         // of them, over this lane's columns only
  correction: f32,  // what takes the result so far to the newest `largest`; 1 unless is_late
  is_late: bool,
}

fn row_at(b: u32, position: u32) -> Row {
  return Row(position, lowest_key(b, position), MASKED, 0.0, 1.0, false);
}

fn masked(score: vec4<f32>, i: u32, lane: u32, key: u32, row: Row) -> vec4<f32> {
  let columns = vec4<u32>(key) + columns_of(i, lane);
  let visible = (columns >= vec4<u32>(row.lowest)) & (columns <= vec4<u32>(row.position));
  return select(vec4<f32>(MASKED), score, visible);
}

// The staged scores of a tile made weights; gives the row as it is behind the tile.
fn weigh(row: Row, s_at: vec4<u32>, p_at: vec4<u32>, lane: u32, key: u32, back: f32) -> Row {
  var x0 = staged(s_at, 0u) * back;
  var x1 = staged(s_at, 1u) * back;
  var x2 = staged(s_at, 2u) * back;
  var x3 = staged(s_at, 3u) * back;
  if (key < row.lowest || key + COLUMNS - 1u > row.position) {
    x0 = masked(x0, 0u, lane, key, row);
    x1 = masked(x1, 1u, lane, key, row);
    x2 = masked(x2, 2u, lane, key, row);
    x3 = masked(x3, 3u, lane, key, row);
  }
  let here = largest_of(max(max(x0, x1), max(x2, x3)));
  let grown = max(row.largest, max(here, subgroupShuffleXor(here, 1u)));
  let has_begun = row.largest > MASKED;
  let is_late = has_begun && grown > row.largest + LATE;
  let correction = select(1.0, exp2(row.largest - grown), is_late);
  let largest = select(grown, row.largest, has_begun && !is_late);
  // A row that has met masked keys only: their weights are to be zero, and not exp2(MASKED - MASKED).
  let origin = vec4<f32>(select(0.0, largest, largest > MASKED));
  let p0 = exp2(x0 - origin);
  let p1 = exp2(x1 - origin);
  let p2 = exp2(x2 - origin);
  let p3 = exp2(x3 - origin);
  put_weights(p_at, 0u, p0);
  put_weights(p_at, 1u, p1);
  put_weights(p_at, 2u, p2);
  put_weights(p_at, 3u, p3);
  return Row(row.position, row.lowest, largest, row.sum * correction + sum_of((p0 + p1) + (p2 + p3)), correction, is_late);
}

// A block of the result, each row times its lanes' factor, by way of the staging from `start` on. The next call takes another place.
fn scaled(o: Sums, start: u32, at: vec4<u32>, factor: f32) -> Sums {
  subgroupMatrixStore(&staging, start, o, false, S_LINE);
  workgroupBarrier();
  for (var i = 0u; i < 16u; i += 8u) {
    staging[at.x + i] *= factor;
    staging[at.y + i] *= factor;
    staging[at.z + i] *= factor;
    staging[at.w + i] *= factor;
  }
  workgroupBarrier();
  return subgroupMatrixLoad<Sums>(&staging, start, false, S_LINE);
}

fn log_sum_exp_of(row: Row, total: f32) -> f32 {
  return select(MASKED, row.largest / LOG2_E + log(max(total, 1e-30)), row.largest > MASKED);
}

// What divides the row's result by its sum, and takes the scale of v back.
fn factor_of(row: Row, total: f32) -> vec2<f32> {
  return vec2<f32>(select(0.0, 1.0 / max(total, 1e-30), row.largest > MASKED), inverses[2]);
}

@compute @workgroup_size(THREADS)
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
  let row = first + subgroup * 32u;             // this subgroup's first
  let back = product_of_powers(inverses[0], inverses[1]) * (params.scale * LOG2_E);
  let k_start = params.k_start + kv_head * params.padded * VECTORS;
  let v_start = params.v_start + kv_head * params.padded * VECTORS;
  let q_place = ((b * params.heads + head) * params.padded + row) * WIDTH;
  let area = subgroup * S_AREA;
  let p_area = subgroup * P_AREA;
  let s_at = s_place(subgroup, lane);
  let p_at = p_place(subgroup, lane);

  let qa0 = subgroupMatrixLoad<Left>(&halves, q_place, false, WIDTH);
  let qa1 = subgroupMatrixLoad<Left>(&halves, q_place + 16u, false, WIDTH);
  let qa2 = subgroupMatrixLoad<Left>(&halves, q_place + 32u, false, WIDTH);
  let qa3 = subgroupMatrixLoad<Left>(&halves, q_place + 48u, false, WIDTH);
  let qb0 = subgroupMatrixLoad<Left>(&halves, q_place + 16u * WIDTH, false, WIDTH);
  let qb1 = subgroupMatrixLoad<Left>(&halves, q_place + 16u * WIDTH + 16u, false, WIDTH);
  let qb2 = subgroupMatrixLoad<Left>(&halves, q_place + 16u * WIDTH + 32u, false, WIDTH);
  let qb3 = subgroupMatrixLoad<Left>(&halves, q_place + 16u * WIDTH + 48u, false, WIDTH);
  var oa0 = Sums();
  var oa1 = Sums();
  var oa2 = Sums();
  var oa3 = Sums();
  var ob0 = Sums();
  var ob1 = Sums();
  var ob2 = Sums();
  var ob3 = Sums();
  var ra = row_at(b, row + lane / 2u);
  var rb = row_at(b, row + 16u + lane / 2u);
  var key = first_tile_of(b, first, thread);
  let begin = min(key, params.padded - COLUMNS);
  var low = fetch(k_start, begin, thread);
  var high = fetch(k_start, begin + 16u, thread);
  for (; key < seen; key += COLUMNS) {
    put(0u, thread, low);
    put(16u * LINE, thread, high);
    low = fetch(v_start, key, thread);
    high = fetch(v_start, key + 16u, thread);
    workgroupBarrier();
    var sa0 = Sums();
    var sa1 = Sums();
    var sb0 = Sums();
    var sb1 = Sums();
    // k and v are of the tile's first 16 keys, l and u of the others.
    let k0 = subgroupMatrixLoad<Right>(&tile, 0u, true, LINE);
    let l0 = subgroupMatrixLoad<Right>(&tile, 16u * LINE, true, LINE);
    sa0 = subgroupMatrixMultiplyAccumulate(qa0, k0, sa0);
    sa1 = subgroupMatrixMultiplyAccumulate(qa0, l0, sa1);
    sb0 = subgroupMatrixMultiplyAccumulate(qb0, k0, sb0);
    sb1 = subgroupMatrixMultiplyAccumulate(qb0, l0, sb1);
    let k1 = subgroupMatrixLoad<Right>(&tile, 16u, true, LINE);
    let l1 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 16u, true, LINE);
    sa0 = subgroupMatrixMultiplyAccumulate(qa1, k1, sa0);
    sa1 = subgroupMatrixMultiplyAccumulate(qa1, l1, sa1);
    sb0 = subgroupMatrixMultiplyAccumulate(qb1, k1, sb0);
    sb1 = subgroupMatrixMultiplyAccumulate(qb1, l1, sb1);
    let k2 = subgroupMatrixLoad<Right>(&tile, 32u, true, LINE);
    let l2 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 32u, true, LINE);
    sa0 = subgroupMatrixMultiplyAccumulate(qa2, k2, sa0);
    sa1 = subgroupMatrixMultiplyAccumulate(qa2, l2, sa1);
    sb0 = subgroupMatrixMultiplyAccumulate(qb2, k2, sb0);
    sb1 = subgroupMatrixMultiplyAccumulate(qb2, l2, sb1);
    let k3 = subgroupMatrixLoad<Right>(&tile, 48u, true, LINE);
    let l3 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 48u, true, LINE);
    sa0 = subgroupMatrixMultiplyAccumulate(qa3, k3, sa0);
    sa1 = subgroupMatrixMultiplyAccumulate(qa3, l3, sa1);
    sb0 = subgroupMatrixMultiplyAccumulate(qb3, k3, sb0);
    sb1 = subgroupMatrixMultiplyAccumulate(qb3, l3, sb1);
    subgroupMatrixStore(&staging, area, sa0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, sa1, false, S_LINE);
    workgroupBarrier();
    put(0u, thread, low);
    put(16u * LINE, thread, high);
    let after = min(key + COLUMNS, params.padded - COLUMNS);
    low = fetch(k_start, after, thread);
    high = fetch(k_start, after + 16u, thread);
    ra = weigh(ra, s_at, p_at, lane, key, back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, sb0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, sb1, false, S_LINE);
    let wa0 = subgroupMatrixLoad<Left>(&weights, p_area, false, P_LINE);
    let wa1 = subgroupMatrixLoad<Left>(&weights, p_area + 16u, false, P_LINE);
    workgroupBarrier();
    rb = weigh(rb, s_at, p_at, lane, key, back);
    let any_late = subgroupAny(ra.is_late || rb.is_late);
    if (lane == 0u) {
      has_grown[subgroup] = select(0u, 1u, any_late);
    }
    let late = workgroupUniformLoad(&has_grown);
    if ((late[0] | late[1]) != 0u) {
      oa0 = scaled(oa0, area, s_at, ra.correction);
      oa1 = scaled(oa1, area + 16u, s_at + vec4<u32>(16u), ra.correction);
      oa2 = scaled(oa2, area, s_at, ra.correction);
      oa3 = scaled(oa3, area + 16u, s_at + vec4<u32>(16u), ra.correction);
      ob0 = scaled(ob0, area, s_at, rb.correction);
      ob1 = scaled(ob1, area + 16u, s_at + vec4<u32>(16u), rb.correction);
      ob2 = scaled(ob2, area, s_at, rb.correction);
      ob3 = scaled(ob3, area + 16u, s_at + vec4<u32>(16u), rb.correction);
    }
    let wb0 = subgroupMatrixLoad<Left>(&weights, p_area, false, P_LINE);
    let wb1 = subgroupMatrixLoad<Left>(&weights, p_area + 16u, false, P_LINE);
    let v0 = subgroupMatrixLoad<Right>(&tile, 0u, false, LINE);
    let u0 = subgroupMatrixLoad<Right>(&tile, 16u * LINE, false, LINE);
    oa0 = subgroupMatrixMultiplyAccumulate(wa1, u0, subgroupMatrixMultiplyAccumulate(wa0, v0, oa0));
    ob0 = subgroupMatrixMultiplyAccumulate(wb1, u0, subgroupMatrixMultiplyAccumulate(wb0, v0, ob0));
    let v1 = subgroupMatrixLoad<Right>(&tile, 16u, false, LINE);
    let u1 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 16u, false, LINE);
    oa1 = subgroupMatrixMultiplyAccumulate(wa1, u1, subgroupMatrixMultiplyAccumulate(wa0, v1, oa1));
    ob1 = subgroupMatrixMultiplyAccumulate(wb1, u1, subgroupMatrixMultiplyAccumulate(wb0, v1, ob1));
    let v2 = subgroupMatrixLoad<Right>(&tile, 32u, false, LINE);
    let u2 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 32u, false, LINE);
    oa2 = subgroupMatrixMultiplyAccumulate(wa1, u2, subgroupMatrixMultiplyAccumulate(wa0, v2, oa2));
    ob2 = subgroupMatrixMultiplyAccumulate(wb1, u2, subgroupMatrixMultiplyAccumulate(wb0, v2, ob2));
    let v3 = subgroupMatrixLoad<Right>(&tile, 48u, false, LINE);
    let u3 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 48u, false, LINE);
    oa3 = subgroupMatrixMultiplyAccumulate(wa1, u3, subgroupMatrixMultiplyAccumulate(wa0, v3, oa3));
    ob3 = subgroupMatrixMultiplyAccumulate(wb1, u3, subgroupMatrixMultiplyAccumulate(wb0, v3, ob3));
    workgroupBarrier();
  }

  let ra_total = ra.sum + subgroupShuffleXor(ra.sum, 1u);
  let rb_total = rb.sum + subgroupShuffleXor(rb.sum, 1u);
  if (lane % 2u == 0u) {
    if (ra.position < params.length) {
      log_sum_exp[(b * params.length + ra.position) * params.heads + head] = log_sum_exp_of(ra, ra_total);
    }
    if (rb.position < params.length) {
      log_sum_exp[(b * params.length + rb.position) * params.heads + head] = log_sum_exp_of(rb, rb_total);
    }
  }
  let ra_factor = factor_of(ra, ra_total);
  let rb_factor = factor_of(rb, rb_total);
  let stride = params.heads * params.head_dim;
  let at = (b * params.length + row) * stride + head * params.head_dim;
  write_sums(0u, oa0, oa1, area, lane, row, 0u, ra_factor, at, stride);
  write_sums(0u, oa2, oa3, area, lane, row, 32u, ra_factor, at, stride);
  write_sums(0u, ob0, ob1, area, lane, row + 16u, 0u, rb_factor, at + 16u * stride, stride);
  write_sums(0u, ob2, ob3, area, lane, row + 16u, 32u, rb_factor, at + 16u * stride, stride);
}
