// A workgroup of four subgroups of 32 computes 256 x 64 values of Y, each subgroup 64 x 64 of them as 16 blocks of 16 x 16 that it keeps in
// registers. X comes straight from its panels, whose blocks a subgroup reads in one piece; no other subgroup of the workgroup needs them.
// The 64 columns of W are what all four share: STEP terms of them are rounded to f16 and put into workgroup memory. Where W's tile is there
// twice (W_BUFFERS), one barrier a step is enough, else it takes two. Both operands are fetched ahead: X by a block of 16 terms, W by a step.
//
// With SPLIT a value of X is two halves, and one of W, if W_SPLIT: upper upper + upper lower + lower upper are added up.
//
// The tile of W keeps the order of memory, so that neighbouring threads read neighbouring addresses: [column][term] where rows of W lie
// along the sum (W_ALONG), else [term][column]. Lines are 8 halves longer than their values, which spreads them over the banks.
//
// The last workgroups may have subgroups beyond the last panel: they compute that panel again and write nothing.
//
// Joined before matmul_panels_terms.wgsl, once for each 16 terms of a step, and matmul_panels_end.wgsl.

const COLUMNS: u32 = 64u;  // of a workgroup
const THREADS: u32 = 128u;
const W_LENGTH: u32 = select(COLUMNS, STEP, W_ALONG);  // values of a line of W's tile
const W_LINE: u32 = W_LENGTH + 8u;                     // halves from a line to the next
const W_SIZE: u32 = select(STEP, COLUMNS, W_ALONG) * W_LINE;
const W_BUFFER: u32 = select(W_SIZE, 2u * W_SIZE, W_SPLIT);  // upper parts, and behind them the lower ones
const W_VECTORS: u32 = W_LENGTH / W_VALUES;                  // of a line
const W_LINES: u32 = THREADS / W_VECTORS;                    // that the workgroup reads at once
const W_FETCHES: u32 = COLUMNS * STEP / W_VALUES / THREADS;  // vectors of a thread: 2, 4 or 8
const BLOCK: u32 = 256u;                                     // values

alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sums = subgroup_matrix_result<f32, 16, 16>;

var<workgroup> w_tile: array<f16, W_BUFFERS * W_BUFFER>;
var<workgroup> staging: array<f32, 4u * BLOCK>;  // a block for each subgroup

/// What a thread reads of W for a step.
struct Fetched {
  v0: WValue,
  v1: WValue,
  v2: WValue,
  v3: WValue,
  v4: WValue,
  v5: WValue,
  v6: WValue,
  v7: WValue,
}

fn fetch_w_vector(first_column: u32, k: u32, thread: u32, i: u32) -> WValue {
  let line = thread / W_VECTORS + i * W_LINES;
  let place = thread % W_VECTORS;
  if (W_ALONG) {
    return w[((first_column + line) * params.z + k) / W_VALUES + place];
  }
  return w[((k + line) * params.y + first_column) / W_VALUES + place];
}

fn fetch_w(first_column: u32, k: u32, thread: u32) -> Fetched {
  var fetched: Fetched;
  fetched.v0 = fetch_w_vector(first_column, k, thread, 0u);
  fetched.v1 = fetch_w_vector(first_column, k, thread, 1u);
  if (W_FETCHES > 2u) {
    fetched.v2 = fetch_w_vector(first_column, k, thread, 2u);
    fetched.v3 = fetch_w_vector(first_column, k, thread, 3u);
  }
  if (W_FETCHES > 4u) {
    fetched.v4 = fetch_w_vector(first_column, k, thread, 4u);
    fetched.v5 = fetch_w_vector(first_column, k, thread, 5u);
    fetched.v6 = fetch_w_vector(first_column, k, thread, 6u);
    fetched.v7 = fetch_w_vector(first_column, k, thread, 7u);
  }
  return fetched;
}

fn put_w(buffer: u32, thread: u32, fetched: Fetched, scale: f32) {
  let place = buffer + thread / W_VECTORS * W_LINE + thread % W_VECTORS * W_VALUES;
  put_w_values(place, fetched.v0, scale);
  put_w_values(place + W_LINES * W_LINE, fetched.v1, scale);
  if (W_FETCHES > 2u) {
    put_w_values(place + 2u * W_LINES * W_LINE, fetched.v2, scale);
    put_w_values(place + 3u * W_LINES * W_LINE, fetched.v3, scale);
  }
  if (W_FETCHES > 4u) {
    put_w_values(place + 4u * W_LINES * W_LINE, fetched.v4, scale);
    put_w_values(place + 5u * W_LINES * W_LINE, fetched.v5, scale);
    put_w_values(place + 6u * W_LINES * W_LINE, fetched.v6, scale);
    put_w_values(place + 7u * W_LINES * W_LINE, fetched.v7, scale);
  }
}

/// Block `i` of 16 rows of a panel's 16 terms that begin at `place`.
fn x_block(place: u32, i: u32) -> Left {
  return subgroupMatrixLoad<Left>(&x, place + i * BLOCK, false, 16u);
}

/// Sixteen terms of sixteen columns, from column `column` of the tile on.
fn w_block(buffer: u32, term: u32, column: u32) -> Right {
  return subgroupMatrixLoad<Right>(&w_tile, buffer + term * select(W_LINE, 1u, W_ALONG) + column * select(1u, W_LINE, W_ALONG), W_ALONG, W_LINE);
}

/// What takes the scales back: one after the other, since their product may be outside f32.
struct Back {
  x: f32,
  w: f32,
}

/// Writes a block of sums, or adds it; `place`: of its first value in Y. It goes through workgroup memory, so that an instruction writes
/// two rows of 64 bytes; subgroupMatrixStore writes eight of 32, which took a third of the time of short sums (H200, 2026-12-01). What is
/// there in Y is all on its way before the first value is needed.
fn finish_block(sums: Sums, place: u32, back: Back, area: u32, lane: u32, adds: bool, is_mine: bool) {
  let at = place + lane / 16u * params.y + lane % 16u;
  let lines = vec4<u32>(0u, 2u, 4u, 6u) * params.y + vec4<u32>(at);
  let more = lines + vec4<u32>(8u * params.y);
  var low = vec4<f32>(0.0);
  var high = vec4<f32>(0.0);
  if (ACCUMULATE && adds && is_mine) {
    low = vec4<f32>(y[lines.x], y[lines.y], y[lines.z], y[lines.w]);
    high = vec4<f32>(y[more.x], y[more.y], y[more.z], y[more.w]);
  }
  subgroupMatrixStore(&staging, area, sums, false, 16u);
  workgroupBarrier();
  if (is_mine) {
    let mine = area + lane;
    low += vec4<f32>(staging[mine], staging[mine + 32u], staging[mine + 64u], staging[mine + 96u]) * back.x * back.w;
    high += vec4<f32>(staging[mine + 128u], staging[mine + 160u], staging[mine + 192u], staging[mine + 224u]) * back.x * back.w;
    y[lines.x] = low.x;
    y[lines.y] = low.y;
    y[lines.z] = low.z;
    y[lines.w] = low.w;
    y[more.x] = high.x;
    y[more.y] = high.y;
    y[more.z] = high.z;
    y[more.w] = high.w;
  }
  workgroupBarrier();
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let share = share_of(group.z, groups.z);
  let last_panel = params.x / 64u - 1u;
  let panel = min(group.y * 4u + subgroup, last_panel);
  let column = group.x * COLUMNS;
  let x_start = panel * 64u * params.z;
  let x_last = x_start + 64u * (params.z - 16u);  // the panel's last sixteen terms
  let lower = params.x * params.z;                // where the lower halves of X begin
  let w_factor = w_scale();

  var c00 = Sums();
  var c01 = Sums();
  var c02 = Sums();
  var c03 = Sums();
  var c10 = Sums();
  var c11 = Sums();
  var c12 = Sums();
  var c13 = Sums();
  var c20 = Sums();
  var c21 = Sums();
  var c22 = Sums();
  var c23 = Sums();
  var c30 = Sums();
  var c31 = Sums();
  var c32 = Sums();
  var c33 = Sums();
  let area = subgroup * BLOCK;
  let is_mine = group.y * 4u + subgroup <= last_panel;
  let line = 16u * params.y;
  let place = share.start + panel * 4u * line + column;
  // A power of two's inverse, exactly.
  var back = Back(x_inverse[0], bitcast<f32>(0x7f000000u - bitcast<u32>(w_factor)));
  // To add to Y the sums may begin with it, times both scales: where that leaves values up to 2^60 in f32, and no panel is computed twice.
  // Factors in two halves are exact enough that it would cost digits: adding 16 terms at a time to a large Y rounds more often.
  let power = i32(bitcast<u32>(w_factor) >> 23u) - i32(bitcast<u32>(x_inverse[0]) >> 23u);
  var adds = ACCUMULATE;
  let begins_with_y = ACCUMULATE && !SPLIT && abs(power) <= 60 && params.x % 256u == 0u;
  if (begins_with_y) {
    adds = false;
    let factor = bitcast<f32>(u32(127 + power) << 23u);
    back = Back(bitcast<f32>(u32(127 - power) << 23u), 1.0);
    c00 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place, false, params.y), factor);
    c01 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 16u, false, params.y), factor);
    c02 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 32u, false, params.y), factor);
    c03 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 48u, false, params.y), factor);
    c10 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + line, false, params.y), factor);
    c11 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + line + 16u, false, params.y), factor);
    c12 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + line + 32u, false, params.y), factor);
    c13 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + line + 48u, false, params.y), factor);
    c20 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 2u * line, false, params.y), factor);
    c21 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 2u * line + 16u, false, params.y), factor);
    c22 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 2u * line + 32u, false, params.y), factor);
    c23 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 2u * line + 48u, false, params.y), factor);
    c30 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 3u * line, false, params.y), factor);
    c31 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 3u * line + 16u, false, params.y), factor);
    c32 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 3u * line + 32u, false, params.y), factor);
    c33 = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, place + 3u * line + 48u, false, params.y), factor);
  }
  // What lies behind the last step, and the steps of an empty part, read the last.
  let w_last = params.z - STEP;
  var w_next = fetch_w(column, min(share.begin, w_last), thread);
  var x_place = min(x_start + 64u * share.begin, x_last);
  var a0 = x_block(x_place, 0u);
  var a1 = x_block(x_place, 1u);
  var a2 = x_block(x_place, 2u);
  var a3 = x_block(x_place, 3u);
  var l0 = x_block(x_place + select(0u, lower, SPLIT), 0u);
  var l1 = x_block(x_place + select(0u, lower, SPLIT), 1u);
  var l2 = x_block(x_place + select(0u, lower, SPLIT), 2u);
  var l3 = x_block(x_place + select(0u, lower, SPLIT), 3u);
  put_w(0u, thread, w_next, w_factor);
  workgroupBarrier();
  var buffer = 0u;
  for (var k = share.begin; k < share.end; k += STEP) {
    w_next = fetch_w(column, min(k + STEP, w_last), thread);
    var term = 0u;
