// d_q[t] = scale * sum of ds[t, u] * k[u] on the matrix units, ds = p * (d_out[t].v[u] - delta[t]): factors, and ds, rounded to f16, sums
// in f32. One workgroup has 64 queries of one head, a subgroup 32 of them: the first 16 (a) and the others (b) take turns in its places of
// scores and weights.
// Source: Dao 2023, arXiv:2307.08691. Joined behind attention_units_tiles.wgsl, which has Params, and attention_units_backward.wgsl; its
// one slot holds the values of 32 keys, then the keys.
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

// The weights p of the keys columns_of(i), zero where the row does not see them.
fn masked(p: vec4<f32>, i: u32, lane: u32, key: u32, position: u32, lowest: u32) -> vec4<f32> {
  let columns = vec4<u32>(key) + columns_of(i, lane);
  return select(vec4<f32>(0.0), p, (columns >= vec4<u32>(lowest)) & (columns <= vec4<u32>(position)));
}

// A lane's 16 values of its row: of columns_of(0) to (3).
struct Line {
  x0: vec4<f32>,
  x1: vec4<f32>,
  x2: vec4<f32>,
  x3: vec4<f32>,
}

fn slopes(at: vec4<u32>, delta: f32) -> Line {
  let d = vec4<f32>(delta);
  return Line(slopes_of(at, 0u, d), slopes_of(at, 1u, d), slopes_of(at, 2u, d), slopes_of(at, 3u, d));
}

// The staged scores of a tile made weights, those times their slopes put where the weights of the product are.
fn put_d_scores(s_at: vec4<u32>, p_at: vec4<u32>, lane: u32, key: u32, position: u32, query: Query, back: f32, slope: Line) {
  let log_sum_exp = vec4<f32>(query.log_sum_exp);
  var p0 = weights_of(s_at, 0u, back, log_sum_exp);
  var p1 = weights_of(s_at, 1u, back, log_sum_exp);
  var p2 = weights_of(s_at, 2u, back, log_sum_exp);
  var p3 = weights_of(s_at, 3u, back, log_sum_exp);
  if (key < query.lowest || key + COLUMNS - 1u > position) {
    p0 = masked(p0, 0u, lane, key, position, query.lowest);
    p1 = masked(p1, 1u, lane, key, position, query.lowest);
    p2 = masked(p2, 2u, lane, key, position, query.lowest);
    p3 = masked(p3, 3u, lane, key, position, query.lowest);
  }
  put_weights(p_at, 0u, p0 * slope.x0);
  put_weights(p_at, 1u, p1 * slope.x1);
  put_weights(p_at, 2u, p2 * slope.x2);
  put_weights(p_at, 3u, p3 * slope.x3);
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
  let position = row + lane / 2u;               // this lane's first row; the other is 16 behind
  let known = scales();
  let query_a = query_at(b, position, head, known.delta);
  let query_b = query_at(b, position + 16u, head, known.delta);
  let k_start = params.k_start + kv_head * params.padded * VECTORS;
  let v_start = params.v_start + kv_head * params.padded * VECTORS;
  let q_place = ((b * params.heads + head) * params.padded + row) * WIDTH;
  let d_place = params.d_out_start * 8u + q_place;
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
  let da0 = subgroupMatrixLoad<Left>(&halves, d_place, false, WIDTH);
  let da1 = subgroupMatrixLoad<Left>(&halves, d_place + 16u, false, WIDTH);
  let da2 = subgroupMatrixLoad<Left>(&halves, d_place + 32u, false, WIDTH);
  let da3 = subgroupMatrixLoad<Left>(&halves, d_place + 48u, false, WIDTH);
  let db0 = subgroupMatrixLoad<Left>(&halves, d_place + 16u * WIDTH, false, WIDTH);
  let db1 = subgroupMatrixLoad<Left>(&halves, d_place + 16u * WIDTH + 16u, false, WIDTH);
  let db2 = subgroupMatrixLoad<Left>(&halves, d_place + 16u * WIDTH + 32u, false, WIDTH);
  let db3 = subgroupMatrixLoad<Left>(&halves, d_place + 16u * WIDTH + 48u, false, WIDTH);
  var oa0 = Sums();
  var oa1 = Sums();
  var oa2 = Sums();
  var oa3 = Sums();
  var ob0 = Sums();
  var ob1 = Sums();
  var ob2 = Sums();
  var ob3 = Sums();
  var key = first_tile_of(b, first, thread);
  let begin = min(key, params.padded - COLUMNS);
  var low = fetch(v_start, begin, thread);
  var high = fetch(v_start, begin + 16u, thread);
  for (; key < seen; key += COLUMNS) {
    put(0u, thread, low);
    put(16u * LINE, thread, high);
    low = fetch(k_start, key, thread);
    high = fetch(k_start, key + 16u, thread);
    workgroupBarrier();
    // v and k are of the tile's first 16 keys, u and l of the others.
    var ta0 = Sums();
    var ta1 = Sums();
    var tb0 = Sums();
    var tb1 = Sums();
    let v0 = subgroupMatrixLoad<Right>(&tile, 0u, true, LINE);
    let u0 = subgroupMatrixLoad<Right>(&tile, 16u * LINE, true, LINE);
    ta0 = subgroupMatrixMultiplyAccumulate(da0, v0, ta0);
    ta1 = subgroupMatrixMultiplyAccumulate(da0, u0, ta1);
    tb0 = subgroupMatrixMultiplyAccumulate(db0, v0, tb0);
    tb1 = subgroupMatrixMultiplyAccumulate(db0, u0, tb1);
    let v1 = subgroupMatrixLoad<Right>(&tile, 16u, true, LINE);
    let u1 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 16u, true, LINE);
    ta0 = subgroupMatrixMultiplyAccumulate(da1, v1, ta0);
    ta1 = subgroupMatrixMultiplyAccumulate(da1, u1, ta1);
    tb0 = subgroupMatrixMultiplyAccumulate(db1, v1, tb0);
    tb1 = subgroupMatrixMultiplyAccumulate(db1, u1, tb1);
    let v2 = subgroupMatrixLoad<Right>(&tile, 32u, true, LINE);
    let u2 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 32u, true, LINE);
    ta0 = subgroupMatrixMultiplyAccumulate(da2, v2, ta0);
    ta1 = subgroupMatrixMultiplyAccumulate(da2, u2, ta1);
    tb0 = subgroupMatrixMultiplyAccumulate(db2, v2, tb0);
    tb1 = subgroupMatrixMultiplyAccumulate(db2, u2, tb1);
    let v3 = subgroupMatrixLoad<Right>(&tile, 48u, true, LINE);
    let u3 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 48u, true, LINE);
    ta0 = subgroupMatrixMultiplyAccumulate(da3, v3, ta0);
    ta1 = subgroupMatrixMultiplyAccumulate(da3, u3, ta1);
    tb0 = subgroupMatrixMultiplyAccumulate(db3, v3, tb0);
    tb1 = subgroupMatrixMultiplyAccumulate(db3, u3, tb1);
    subgroupMatrixStore(&staging, area, ta0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, ta1, false, S_LINE);
    workgroupBarrier();
    put(0u, thread, low);
    put(16u * LINE, thread, high);
    let slopes_a = slopes(s_at, query_a.delta);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, tb0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, tb1, false, S_LINE);
    workgroupBarrier();
    let slopes_b = slopes(s_at, query_b.delta);
    var sa0 = Sums();
    var sa1 = Sums();
    var sb0 = Sums();
    var sb1 = Sums();
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
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, sa0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, sa1, false, S_LINE);
    workgroupBarrier();
    put_d_scores(s_at, p_at, lane, key, position, query_a, known.score, slopes_a);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, sb0, false, S_LINE);
    subgroupMatrixStore(&staging, area + 16u, sb1, false, S_LINE);
    let wa0 = subgroupMatrixLoad<Left>(&weights, p_area, false, P_LINE);
    let wa1 = subgroupMatrixLoad<Left>(&weights, p_area + 16u, false, P_LINE);
    workgroupBarrier();
    let after = min(key + COLUMNS, params.padded - COLUMNS);
    low = fetch(v_start, after, thread);
    high = fetch(v_start, after + 16u, thread);
    put_d_scores(s_at, p_at, lane, key, position + 16u, query_b, known.score, slopes_b);
    workgroupBarrier();
    let wb0 = subgroupMatrixLoad<Left>(&weights, p_area, false, P_LINE);
    let wb1 = subgroupMatrixLoad<Left>(&weights, p_area + 16u, false, P_LINE);
    let x0 = subgroupMatrixLoad<Right>(&tile, 0u, false, LINE);
    let y0 = subgroupMatrixLoad<Right>(&tile, 16u * LINE, false, LINE);
    oa0 = subgroupMatrixMultiplyAccumulate(wa1, y0, subgroupMatrixMultiplyAccumulate(wa0, x0, oa0));
    ob0 = subgroupMatrixMultiplyAccumulate(wb1, y0, subgroupMatrixMultiplyAccumulate(wb0, x0, ob0));
    let x1 = subgroupMatrixLoad<Right>(&tile, 16u, false, LINE);
    let y1 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 16u, false, LINE);
    oa1 = subgroupMatrixMultiplyAccumulate(wa1, y1, subgroupMatrixMultiplyAccumulate(wa0, x1, oa1));
    ob1 = subgroupMatrixMultiplyAccumulate(wb1, y1, subgroupMatrixMultiplyAccumulate(wb0, x1, ob1));
    let x2 = subgroupMatrixLoad<Right>(&tile, 32u, false, LINE);
    let y2 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 32u, false, LINE);
    oa2 = subgroupMatrixMultiplyAccumulate(wa1, y2, subgroupMatrixMultiplyAccumulate(wa0, x2, oa2));
    ob2 = subgroupMatrixMultiplyAccumulate(wb1, y2, subgroupMatrixMultiplyAccumulate(wb0, x2, ob2));
    let x3 = subgroupMatrixLoad<Right>(&tile, 48u, false, LINE);
    let y3 = subgroupMatrixLoad<Right>(&tile, 16u * LINE + 48u, false, LINE);
    oa3 = subgroupMatrixMultiplyAccumulate(wa1, y3, subgroupMatrixMultiplyAccumulate(wa0, x3, oa3));
    ob3 = subgroupMatrixMultiplyAccumulate(wb1, y3, subgroupMatrixMultiplyAccumulate(wb0, x3, ob3));
    workgroupBarrier();
  }

  // The scales of d_out and v one after the other: their product may be outside f32.
  let factor = vec2<f32>(UP * inverses[3], inverses[2] * inverses[1] * params.scale);
  let stride = params.heads * params.head_dim;
  let at = (b * params.length + row) * stride + head * params.head_dim;
  write_sums(0u, oa0, oa1, area, lane, row, 0u, factor, at, stride);
  write_sums(0u, oa2, oa3, area, lane, row, 32u, factor, at, stride);
  write_sums(0u, ob0, ob1, area, lane, row + 16u, 0u, factor, at + 16u * stride, stride);
  write_sums(0u, ob2, ob3, area, lane, row + 16u, 32u, factor, at + 16u * stride, stride);
}
