// A workgroup of four subgroups of 32 computes 128 x 128 values of Y, each subgroup 64 x 64 of them as 16 blocks of 16 x 16 that it keeps
// in registers. A step takes STEP terms: f32 values on their way from memory are multiplied by their operand's scale, rounded to f16 and
// put into workgroup memory, from where the matrix units take blocks of 16 x 16. With SPLIT a value becomes two halves, the upper eleven
// bits of its significand and the rest, and a step makes upper upper + upper lower + lower upper. While the units multiply, the next step's
// values are on their way into registers.
//
// The tiles keep the order of memory, so that neighbouring threads read neighbouring addresses: [row][term] where rows lie along the sum
// (X_ALONG, W_ALONG), else [term][row]. Lines are 8 halves longer than their values, which spreads them over the banks. Both tiles and
// the staging are 24,576 bytes: with a little more only one workgroup fits a multiprocessor of an H200, at half the speed.
//
// A block's values cannot be touched one by one. Where all lies inside and nothing is added, it is divided by the scales as a whole and
// stored; else it goes through 16 x 16 floats of workgroup memory, from where each value is stored by itself.

const TILE: u32 = 128u;
const THREADS: u32 = 128u;
const SLOTS: u32 = 32u;  // terms of a tile, or with SPLIT 16 upper and 16 lower parts
const X_VECTORS: u32 = select(TILE, STEP, X_ALONG) / 4u;  // of a line as it is read
const W_VECTORS: u32 = select(TILE, STEP, W_ALONG) / 4u;
const X_LINE: u32 = select(TILE, SLOTS, X_ALONG) + 8u;  // halves
const W_LINE: u32 = select(TILE, SLOTS, W_ALONG) + 8u;
const X_ROW: u32 = select(1u, X_LINE, X_ALONG);  // halves from a row of Y to the next
const X_SLOT: u32 = select(X_LINE, 1u, X_ALONG);
const W_COLUMN: u32 = select(1u, W_LINE, W_ALONG);
const W_SLOT: u32 = select(W_LINE, 1u, W_ALONG);
const SECOND: u32 = 16u;  // slot of the terms 16 to 31, or of the lower parts
const X_SIZE: u32 = select(SLOTS, TILE, X_ALONG) * X_LINE;
const W_SIZE: u32 = select(SLOTS, TILE, W_ALONG) * W_LINE;
const BLOCK: u32 = 256u;  // values

alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sums = subgroup_matrix_result<f32, 16, 16>;

var<workgroup> x_tile: array<f16, X_SIZE>;
var<workgroup> w_tile: array<f16, W_SIZE>;
var<workgroup> staging: array<f32, 4u * BLOCK>;  // a block for each subgroup

/// What a thread reads of one operand for a step: eight vectors, with SPLIT four.
struct Fetched {
  v0: vec4<f32>,
  v1: vec4<f32>,
  v2: vec4<f32>,
  v3: vec4<f32>,
  v4: vec4<f32>,
  v5: vec4<f32>,
  v6: vec4<f32>,
  v7: vec4<f32>,
}

fn fetch_x_vector(first_row: u32, k: u32, thread: u32, i: u32) -> vec4<f32> {
  let line = thread / X_VECTORS + i * (THREADS / X_VECTORS);
  let place = thread % X_VECTORS * 4u;
  if (X_ALONG) {
    return load_x(first_row + line, k + place, params.x, params.z);
  }
  return load_x(k + line, first_row + place, params.z, params.x);
}

fn fetch_x(first_row: u32, k: u32, thread: u32) -> Fetched {
  var fetched: Fetched;
  fetched.v0 = fetch_x_vector(first_row, k, thread, 0u);
  fetched.v1 = fetch_x_vector(first_row, k, thread, 1u);
  fetched.v2 = fetch_x_vector(first_row, k, thread, 2u);
  fetched.v3 = fetch_x_vector(first_row, k, thread, 3u);
  if (!SPLIT) {
    fetched.v4 = fetch_x_vector(first_row, k, thread, 4u);
    fetched.v5 = fetch_x_vector(first_row, k, thread, 5u);
    fetched.v6 = fetch_x_vector(first_row, k, thread, 6u);
    fetched.v7 = fetch_x_vector(first_row, k, thread, 7u);
  }
  return fetched;
}

fn put_x_halves(place: u32, values: vec4<f32>) {
  let halves = vec4<f16>(values);
  x_tile[place] = halves.x;
  x_tile[place + 1u] = halves.y;
  x_tile[place + 2u] = halves.z;
  x_tile[place + 3u] = halves.w;
}

fn put_x_vector(thread: u32, i: u32, scaled: vec4<f32>) {
  let place = (thread / X_VECTORS + i * (THREADS / X_VECTORS)) * X_LINE + thread % X_VECTORS * 4u;
  if (SPLIT) {
    let upper = upper_half(scaled);
    put_x_halves(place, upper);
    put_x_halves(place + SECOND * X_SLOT, scaled - upper);
  } else {
    put_x_halves(place, scaled);
  }
}

fn put_x(thread: u32, fetched: Fetched, scale: f32) {
  put_x_vector(thread, 0u, fetched.v0 * scale);
  put_x_vector(thread, 1u, fetched.v1 * scale);
  put_x_vector(thread, 2u, fetched.v2 * scale);
  put_x_vector(thread, 3u, fetched.v3 * scale);
  if (!SPLIT) {
    put_x_vector(thread, 4u, fetched.v4 * scale);
    put_x_vector(thread, 5u, fetched.v5 * scale);
    put_x_vector(thread, 6u, fetched.v6 * scale);
    put_x_vector(thread, 7u, fetched.v7 * scale);
  }
}

fn fetch_w_vector(first_column: u32, k: u32, thread: u32, i: u32) -> vec4<f32> {
  let line = thread / W_VECTORS + i * (THREADS / W_VECTORS);
  let place = thread % W_VECTORS * 4u;
  if (W_ALONG) {
    return load_w(first_column + line, k + place, params.y, params.z);
  }
  return load_w(k + line, first_column + place, params.z, params.y);
}

fn fetch_w(first_column: u32, k: u32, thread: u32) -> Fetched {
  var fetched: Fetched;
  fetched.v0 = fetch_w_vector(first_column, k, thread, 0u);
  fetched.v1 = fetch_w_vector(first_column, k, thread, 1u);
  fetched.v2 = fetch_w_vector(first_column, k, thread, 2u);
  fetched.v3 = fetch_w_vector(first_column, k, thread, 3u);
  if (!SPLIT) {
    fetched.v4 = fetch_w_vector(first_column, k, thread, 4u);
    fetched.v5 = fetch_w_vector(first_column, k, thread, 5u);
    fetched.v6 = fetch_w_vector(first_column, k, thread, 6u);
    fetched.v7 = fetch_w_vector(first_column, k, thread, 7u);
  }
  return fetched;
}

fn put_w_halves(place: u32, values: vec4<f32>) {
  let halves = vec4<f16>(values);
  w_tile[place] = halves.x;
  w_tile[place + 1u] = halves.y;
  w_tile[place + 2u] = halves.z;
  w_tile[place + 3u] = halves.w;
}

fn put_w_vector(thread: u32, i: u32, scaled: vec4<f32>) {
  let place = (thread / W_VECTORS + i * (THREADS / W_VECTORS)) * W_LINE + thread % W_VECTORS * 4u;
  if (SPLIT) {
    let upper = upper_half(scaled);
    put_w_halves(place, upper);
    put_w_halves(place + SECOND * W_SLOT, scaled - upper);
  } else {
    put_w_halves(place, scaled);
  }
}

fn put_w(thread: u32, fetched: Fetched, scale: f32) {
  put_w_vector(thread, 0u, fetched.v0 * scale);
  put_w_vector(thread, 1u, fetched.v1 * scale);
  put_w_vector(thread, 2u, fetched.v2 * scale);
  put_w_vector(thread, 3u, fetched.v3 * scale);
  if (!SPLIT) {
    put_w_vector(thread, 4u, fetched.v4 * scale);
    put_w_vector(thread, 5u, fetched.v5 * scale);
    put_w_vector(thread, 6u, fetched.v6 * scale);
    put_w_vector(thread, 7u, fetched.v7 * scale);
  }
}

/// A power of two's inverse, exactly.
fn inverse(scale: f32) -> f32 {
  return bitcast<f32>(0x7f000000u - bitcast<u32>(scale));
}

/// Stores the staged block whose first value is at (row, column). One scale after the other: their product may be outside f32.
fn store_block(area: u32, lane: u32, start: u32, row: u32, column: u32, x_back: f32, w_back: f32) {
  for (var i = lane; i < BLOCK; i += 32u) {
    store(start, row + i / 16u, column + i % 16u, staging[area + i] * x_back * w_back);
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let share = share_of(group.z, groups.z);
  let first_row = group.y * TILE;
  let first_column = group.x * TILE;
  let block_row = subgroup / 2u * 64u;
  let block_column = subgroup % 2u * 64u;
  let left = block_row * X_ROW;
  let right = block_column * W_COLUMN;
  let x_factor = x_scale();
  let w_factor = w_scale();

  var c00: Sums;
  var c01: Sums;
  var c02: Sums;
  var c03: Sums;
  var c10: Sums;
  var c11: Sums;
  var c12: Sums;
  var c13: Sums;
  var c20: Sums;
  var c21: Sums;
  var c22: Sums;
  var c23: Sums;
  var c30: Sums;
  var c31: Sums;
  var c32: Sums;
  var c33: Sums;
  // Whole tiles are read without a look at their place, so the steps behind the last one, and those of an empty part, read the last.
  var next = share.begin;
  if (WHOLE_TILES) {
    next = min(next, params.z - STEP);
  }
  var x_next = fetch_x(first_row, next, thread);
  var w_next = fetch_w(first_column, next, thread);
  for (var k = share.begin; k < share.end; k += STEP) {
    put_x(thread, x_next, x_factor);
    put_w(thread, w_next, w_factor);
    workgroupBarrier();
    next = k + STEP;
    if (WHOLE_TILES) {
      next = min(next, params.z - STEP);
    }
    x_next = fetch_x(first_row, next, thread);
    w_next = fetch_w(first_column, next, thread);

    let a0 = subgroupMatrixLoad<Left>(&x_tile, left, !X_ALONG, X_LINE);
    let a1 = subgroupMatrixLoad<Left>(&x_tile, left + 16u * X_ROW, !X_ALONG, X_LINE);
    let a2 = subgroupMatrixLoad<Left>(&x_tile, left + 32u * X_ROW, !X_ALONG, X_LINE);
    let a3 = subgroupMatrixLoad<Left>(&x_tile, left + 48u * X_ROW, !X_ALONG, X_LINE);
    let b0 = subgroupMatrixLoad<Right>(&w_tile, right, W_ALONG, W_LINE);
    c00 = subgroupMatrixMultiplyAccumulate(a0, b0, c00);
    c10 = subgroupMatrixMultiplyAccumulate(a1, b0, c10);
    c20 = subgroupMatrixMultiplyAccumulate(a2, b0, c20);
    c30 = subgroupMatrixMultiplyAccumulate(a3, b0, c30);
    let b1 = subgroupMatrixLoad<Right>(&w_tile, right + 16u * W_COLUMN, W_ALONG, W_LINE);
    c01 = subgroupMatrixMultiplyAccumulate(a0, b1, c01);
    c11 = subgroupMatrixMultiplyAccumulate(a1, b1, c11);
    c21 = subgroupMatrixMultiplyAccumulate(a2, b1, c21);
    c31 = subgroupMatrixMultiplyAccumulate(a3, b1, c31);
    let b2 = subgroupMatrixLoad<Right>(&w_tile, right + 32u * W_COLUMN, W_ALONG, W_LINE);
    c02 = subgroupMatrixMultiplyAccumulate(a0, b2, c02);
    c12 = subgroupMatrixMultiplyAccumulate(a1, b2, c12);
    c22 = subgroupMatrixMultiplyAccumulate(a2, b2, c22);
    c32 = subgroupMatrixMultiplyAccumulate(a3, b2, c32);
    let b3 = subgroupMatrixLoad<Right>(&w_tile, right + 48u * W_COLUMN, W_ALONG, W_LINE);
    c03 = subgroupMatrixMultiplyAccumulate(a0, b3, c03);
    c13 = subgroupMatrixMultiplyAccumulate(a1, b3, c13);
    c23 = subgroupMatrixMultiplyAccumulate(a2, b3, c23);
    c33 = subgroupMatrixMultiplyAccumulate(a3, b3, c33);
    if (SPLIT) {
      let s0 = subgroupMatrixLoad<Right>(&w_tile, right + SECOND * W_SLOT, W_ALONG, W_LINE);
      c00 = subgroupMatrixMultiplyAccumulate(a0, s0, c00);
      c10 = subgroupMatrixMultiplyAccumulate(a1, s0, c10);
      c20 = subgroupMatrixMultiplyAccumulate(a2, s0, c20);
      c30 = subgroupMatrixMultiplyAccumulate(a3, s0, c30);
      let s1 = subgroupMatrixLoad<Right>(&w_tile, right + 16u * W_COLUMN + SECOND * W_SLOT, W_ALONG, W_LINE);
      c01 = subgroupMatrixMultiplyAccumulate(a0, s1, c01);
      c11 = subgroupMatrixMultiplyAccumulate(a1, s1, c11);
      c21 = subgroupMatrixMultiplyAccumulate(a2, s1, c21);
      c31 = subgroupMatrixMultiplyAccumulate(a3, s1, c31);
      let s2 = subgroupMatrixLoad<Right>(&w_tile, right + 32u * W_COLUMN + SECOND * W_SLOT, W_ALONG, W_LINE);
      c02 = subgroupMatrixMultiplyAccumulate(a0, s2, c02);
      c12 = subgroupMatrixMultiplyAccumulate(a1, s2, c12);
      c22 = subgroupMatrixMultiplyAccumulate(a2, s2, c22);
      c32 = subgroupMatrixMultiplyAccumulate(a3, s2, c32);
      let s3 = subgroupMatrixLoad<Right>(&w_tile, right + 48u * W_COLUMN + SECOND * W_SLOT, W_ALONG, W_LINE);
      c03 = subgroupMatrixMultiplyAccumulate(a0, s3, c03);
      c13 = subgroupMatrixMultiplyAccumulate(a1, s3, c13);
      c23 = subgroupMatrixMultiplyAccumulate(a2, s3, c23);
      c33 = subgroupMatrixMultiplyAccumulate(a3, s3, c33);
    }
    // The terms 16 to 31; with SPLIT the lower parts of X times the upper ones of W.
    let d0 = subgroupMatrixLoad<Left>(&x_tile, left + SECOND * X_SLOT, !X_ALONG, X_LINE);
    let d1 = subgroupMatrixLoad<Left>(&x_tile, left + 16u * X_ROW + SECOND * X_SLOT, !X_ALONG, X_LINE);
    let d2 = subgroupMatrixLoad<Left>(&x_tile, left + 32u * X_ROW + SECOND * X_SLOT, !X_ALONG, X_LINE);
    let d3 = subgroupMatrixLoad<Left>(&x_tile, left + 48u * X_ROW + SECOND * X_SLOT, !X_ALONG, X_LINE);
    let e0 = subgroupMatrixLoad<Right>(&w_tile, right + select(SECOND, 0u, SPLIT) * W_SLOT, W_ALONG, W_LINE);
    c00 = subgroupMatrixMultiplyAccumulate(d0, e0, c00);
    c10 = subgroupMatrixMultiplyAccumulate(d1, e0, c10);
    c20 = subgroupMatrixMultiplyAccumulate(d2, e0, c20);
    c30 = subgroupMatrixMultiplyAccumulate(d3, e0, c30);
    let e1 = subgroupMatrixLoad<Right>(&w_tile, right + 16u * W_COLUMN + select(SECOND, 0u, SPLIT) * W_SLOT, W_ALONG, W_LINE);
    c01 = subgroupMatrixMultiplyAccumulate(d0, e1, c01);
    c11 = subgroupMatrixMultiplyAccumulate(d1, e1, c11);
    c21 = subgroupMatrixMultiplyAccumulate(d2, e1, c21);
    c31 = subgroupMatrixMultiplyAccumulate(d3, e1, c31);
    let e2 = subgroupMatrixLoad<Right>(&w_tile, right + 32u * W_COLUMN + select(SECOND, 0u, SPLIT) * W_SLOT, W_ALONG, W_LINE);
    c02 = subgroupMatrixMultiplyAccumulate(d0, e2, c02);
    c12 = subgroupMatrixMultiplyAccumulate(d1, e2, c12);
    c22 = subgroupMatrixMultiplyAccumulate(d2, e2, c22);
    c32 = subgroupMatrixMultiplyAccumulate(d3, e2, c32);
    let e3 = subgroupMatrixLoad<Right>(&w_tile, right + 48u * W_COLUMN + select(SECOND, 0u, SPLIT) * W_SLOT, W_ALONG, W_LINE);
    c03 = subgroupMatrixMultiplyAccumulate(d0, e3, c03);
    c13 = subgroupMatrixMultiplyAccumulate(d1, e3, c13);
    c23 = subgroupMatrixMultiplyAccumulate(d2, e3, c23);
    c33 = subgroupMatrixMultiplyAccumulate(d3, e3, c33);
    workgroupBarrier();
  }

  let x_back = inverse(x_factor);
  let w_back = inverse(w_factor);
  let row = first_row + block_row;
  let column = first_column + block_column;
  if (WHOLE_TILES && !ACCUMULATE) {
    let stride = params[Y_STRIDE];
    let place = share.start + row * stride + column;
    c00 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c00, x_back), w_back);
    subgroupMatrixStore(&y, place, c00, false, stride);
    c01 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c01, x_back), w_back);
    subgroupMatrixStore(&y, place + 16u, c01, false, stride);
    c02 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c02, x_back), w_back);
    subgroupMatrixStore(&y, place + 32u, c02, false, stride);
    c03 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c03, x_back), w_back);
    subgroupMatrixStore(&y, place + 48u, c03, false, stride);
    c10 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c10, x_back), w_back);
    subgroupMatrixStore(&y, place + 16u * stride, c10, false, stride);
    c11 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c11, x_back), w_back);
    subgroupMatrixStore(&y, place + 16u * stride + 16u, c11, false, stride);
    c12 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c12, x_back), w_back);
    subgroupMatrixStore(&y, place + 16u * stride + 32u, c12, false, stride);
    c13 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c13, x_back), w_back);
    subgroupMatrixStore(&y, place + 16u * stride + 48u, c13, false, stride);
    c20 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c20, x_back), w_back);
    subgroupMatrixStore(&y, place + 32u * stride, c20, false, stride);
    c21 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c21, x_back), w_back);
    subgroupMatrixStore(&y, place + 32u * stride + 16u, c21, false, stride);
    c22 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c22, x_back), w_back);
    subgroupMatrixStore(&y, place + 32u * stride + 32u, c22, false, stride);
    c23 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c23, x_back), w_back);
    subgroupMatrixStore(&y, place + 32u * stride + 48u, c23, false, stride);
    c30 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c30, x_back), w_back);
    subgroupMatrixStore(&y, place + 48u * stride, c30, false, stride);
    c31 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c31, x_back), w_back);
    subgroupMatrixStore(&y, place + 48u * stride + 16u, c31, false, stride);
    c32 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c32, x_back), w_back);
    subgroupMatrixStore(&y, place + 48u * stride + 32u, c32, false, stride);
    c33 = subgroupMatrixScalarMultiply(subgroupMatrixScalarMultiply(c33, x_back), w_back);
    subgroupMatrixStore(&y, place + 48u * stride + 48u, c33, false, stride);
  } else {
    let area = subgroup * BLOCK;
    subgroupMatrixStore(&staging, area, c00, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row, column, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c01, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row, column + 16u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c02, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row, column + 32u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c03, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row, column + 48u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c10, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 16u, column, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c11, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 16u, column + 16u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c12, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 16u, column + 32u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c13, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 16u, column + 48u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c20, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 32u, column, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c21, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 32u, column + 16u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c22, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 32u, column + 32u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c23, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 32u, column + 48u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c30, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 48u, column, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c31, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 48u, column + 16u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c32, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 48u, column + 32u, x_back, w_back);
    workgroupBarrier();
    subgroupMatrixStore(&staging, area, c33, false, 16u);
    workgroupBarrier();
    store_block(area, lane, share.start, row + 48u, column + 48u, x_back, w_back);
    workgroupBarrier();
  }
}
