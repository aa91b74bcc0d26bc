// Y (+)= X W, X W^T or X^T B in f32 for adapters with many registers: the workgroup (x, y) of 128 threads computes the tile of 128 x 128
// values of Y at row 128 y, column 128 x, each thread 8 x 16 of them: rows 4 ty to 4 ty + 3 and the same 64 rows on, columns 4 tx to
// 4 tx + 3 and the same 32, 64 and 96 columns on. A thread reads 6 vectors of workgroup memory for 128 multiplications; with 4 x 4
// values it is 8 for 64 (matmul_tile.wgsl). Four terms are written out: a loop over single ones was 5 to 8 % slower on an H200.
//
// A step takes 8 terms. Both tiles hold [term][row], whatever the order of memory: where rows lie along the sum (X_ALONG, W_ALONG) a
// vector's four terms are written one by one. The parts lie in workgroup memory twice, so that one is filled while the other is used:
// 2 * (1024 + 1024) floats are the 16,384 bytes that every adapter has. Out of range nothing is read; a partial tile is filled with zeros
// and only its part of Y is written.

const TILE: u32 = 128u;
const STEP: u32 = 8u;
const THREADS: u32 = 128u;
const VECTORS: u32 = 32u;  // of a term's 128 values
const BUFFER: u32 = 256u;  // vectors of one buffer

var<workgroup> x_tile: array<vec4<f32>, 512>;
var<workgroup> w_tile: array<vec4<f32>, 512>;

fn fetch_x(first_row: u32, k: u32, thread: u32, i: u32) -> vec4<f32> {
  if (X_ALONG) {
    return load_x(first_row + thread / 2u + 64u * i, k + thread % 2u * 4u, params.x, params.z);
  }
  return load_x(k + thread / VECTORS + 4u * i, first_row + thread % VECTORS * 4u, params.z, params.x);
}

fn put_x(buffer: u32, thread: u32, i: u32, values: vec4<f32>) {
  if (X_ALONG) {
    let row = thread / 2u + 64u * i;
    let place = buffer + thread % 2u * 4u * VECTORS + row / 4u;
    x_tile[place][row % 4u] = values.x;
    x_tile[place + VECTORS][row % 4u] = values.y;
    x_tile[place + 2u * VECTORS][row % 4u] = values.z;
    x_tile[place + 3u * VECTORS][row % 4u] = values.w;
  } else {
    x_tile[buffer + thread + THREADS * i] = values;
  }
}

fn fetch_w(first_column: u32, k: u32, thread: u32, i: u32) -> vec4<f32> {
  if (W_ALONG) {
    return load_w(first_column + thread / 2u + 64u * i, k + thread % 2u * 4u, params.y, params.z);
  }
  return load_w(k + thread / VECTORS + 4u * i, first_column + thread % VECTORS * 4u, params.z, params.y);
}

fn put_w(buffer: u32, thread: u32, i: u32, values: vec4<f32>) {
  if (W_ALONG) {
    let column = thread / 2u + 64u * i;
    let place = buffer + thread % 2u * 4u * VECTORS + column / 4u;
    w_tile[place][column % 4u] = values.x;
    w_tile[place + VECTORS][column % 4u] = values.y;
    w_tile[place + 2u * VECTORS][column % 4u] = values.z;
    w_tile[place + 3u * VECTORS][column % 4u] = values.w;
  } else {
    w_tile[buffer + thread + THREADS * i] = values;
  }
}

/// Whole tiles are read without a look at their place, so the step behind the last one, and that of an empty part, reads the last.
fn within(k: u32) -> u32 {
  if (WHOLE_TILES) {
    return min(k, params.z - STEP);
  }
  return k;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let share = share_of(group.z, groups.z);
  let first_row = group.y * TILE;
  let first_column = group.x * TILE;
  let tx = thread % 8u;
  let ty = thread / 8u;

  var s00 = vec4<f32>(0.0);
  var s01 = vec4<f32>(0.0);
  var s02 = vec4<f32>(0.0);
  var s03 = vec4<f32>(0.0);
  var s10 = vec4<f32>(0.0);
  var s11 = vec4<f32>(0.0);
  var s12 = vec4<f32>(0.0);
  var s13 = vec4<f32>(0.0);
  var s20 = vec4<f32>(0.0);
  var s21 = vec4<f32>(0.0);
  var s22 = vec4<f32>(0.0);
  var s23 = vec4<f32>(0.0);
  var s30 = vec4<f32>(0.0);
  var s31 = vec4<f32>(0.0);
  var s32 = vec4<f32>(0.0);
  var s33 = vec4<f32>(0.0);
  var s40 = vec4<f32>(0.0);
  var s41 = vec4<f32>(0.0);
  var s42 = vec4<f32>(0.0);
  var s43 = vec4<f32>(0.0);
  var s50 = vec4<f32>(0.0);
  var s51 = vec4<f32>(0.0);
  var s52 = vec4<f32>(0.0);
  var s53 = vec4<f32>(0.0);
  var s60 = vec4<f32>(0.0);
  var s61 = vec4<f32>(0.0);
  var s62 = vec4<f32>(0.0);
  var s63 = vec4<f32>(0.0);
  var s70 = vec4<f32>(0.0);
  var s71 = vec4<f32>(0.0);
  var s72 = vec4<f32>(0.0);
  var s73 = vec4<f32>(0.0);
  var current = 0u;
  var next = within(share.begin);
  put_x(current, thread, 0u, fetch_x(first_row, next, thread, 0u));
  put_x(current, thread, 1u, fetch_x(first_row, next, thread, 1u));
  put_w(current, thread, 0u, fetch_w(first_column, next, thread, 0u));
  put_w(current, thread, 1u, fetch_w(first_column, next, thread, 1u));
  workgroupBarrier();
  for (var k = share.begin; k < share.end; k += STEP) {
    next = within(k + STEP);
    let x_next0 = fetch_x(first_row, next, thread, 0u);
    let x_next1 = fetch_x(first_row, next, thread, 1u);
    let w_next0 = fetch_w(first_column, next, thread, 0u);
    let w_next1 = fetch_w(first_column, next, thread, 1u);
    for (var i = 0u; i < STEP; i += 4u) {
      let xa = current + (i + 0u) * VECTORS + ty;
      let wa = current + (i + 0u) * VECTORS + tx;
      let xa0 = x_tile[xa];
      let xa1 = x_tile[xa + 16u];
      let wa0 = w_tile[wa];
      let wa1 = w_tile[wa + 8u];
      let wa2 = w_tile[wa + 16u];
      let wa3 = w_tile[wa + 24u];
      s00 = fma(vec4<f32>(xa0.x), wa0, s00);
      s01 = fma(vec4<f32>(xa0.x), wa1, s01);
      s02 = fma(vec4<f32>(xa0.x), wa2, s02);
      s03 = fma(vec4<f32>(xa0.x), wa3, s03);
      s10 = fma(vec4<f32>(xa0.y), wa0, s10);
      s11 = fma(vec4<f32>(xa0.y), wa1, s11);
      s12 = fma(vec4<f32>(xa0.y), wa2, s12);
      s13 = fma(vec4<f32>(xa0.y), wa3, s13);
      s20 = fma(vec4<f32>(xa0.z), wa0, s20);
      s21 = fma(vec4<f32>(xa0.z), wa1, s21);
      s22 = fma(vec4<f32>(xa0.z), wa2, s22);
      s23 = fma(vec4<f32>(xa0.z), wa3, s23);
      s30 = fma(vec4<f32>(xa0.w), wa0, s30);
      s31 = fma(vec4<f32>(xa0.w), wa1, s31);
      s32 = fma(vec4<f32>(xa0.w), wa2, s32);
      s33 = fma(vec4<f32>(xa0.w), wa3, s33);
      s40 = fma(vec4<f32>(xa1.x), wa0, s40);
      s41 = fma(vec4<f32>(xa1.x), wa1, s41);
      s42 = fma(vec4<f32>(xa1.x), wa2, s42);
      s43 = fma(vec4<f32>(xa1.x), wa3, s43);
      s50 = fma(vec4<f32>(xa1.y), wa0, s50);
      s51 = fma(vec4<f32>(xa1.y), wa1, s51);
      s52 = fma(vec4<f32>(xa1.y), wa2, s52);
      s53 = fma(vec4<f32>(xa1.y), wa3, s53);
      s60 = fma(vec4<f32>(xa1.z), wa0, s60);
      s61 = fma(vec4<f32>(xa1.z), wa1, s61);
      s62 = fma(vec4<f32>(xa1.z), wa2, s62);
      s63 = fma(vec4<f32>(xa1.z), wa3, s63);
      s70 = fma(vec4<f32>(xa1.w), wa0, s70);
      s71 = fma(vec4<f32>(xa1.w), wa1, s71);
      s72 = fma(vec4<f32>(xa1.w), wa2, s72);
      s73 = fma(vec4<f32>(xa1.w), wa3, s73);
      let xb = current + (i + 1u) * VECTORS + ty;
      let wb = current + (i + 1u) * VECTORS + tx;
      let xb0 = x_tile[xb];
      let xb1 = x_tile[xb + 16u];
      let wb0 = w_tile[wb];
      let wb1 = w_tile[wb + 8u];
      let wb2 = w_tile[wb + 16u];
      let wb3 = w_tile[wb + 24u];
      s00 = fma(vec4<f32>(xb0.x), wb0, s00);
      s01 = fma(vec4<f32>(xb0.x), wb1, s01);
      s02 = fma(vec4<f32>(xb0.x), wb2, s02);
      s03 = fma(vec4<f32>(xb0.x), wb3, s03);
      s10 = fma(vec4<f32>(xb0.y), wb0, s10);
      s11 = fma(vec4<f32>(xb0.y), wb1, s11);
      s12 = fma(vec4<f32>(xb0.y), wb2, s12);
      s13 = fma(vec4<f32>(xb0.y), wb3, s13);
      s20 = fma(vec4<f32>(xb0.z), wb0, s20);
      s21 = fma(vec4<f32>(xb0.z), wb1, s21);
      s22 = fma(vec4<f32>(xb0.z), wb2, s22);
      s23 = fma(vec4<f32>(xb0.z), wb3, s23);
      s30 = fma(vec4<f32>(xb0.w), wb0, s30);
      s31 = fma(vec4<f32>(xb0.w), wb1, s31);
      s32 = fma(vec4<f32>(xb0.w), wb2, s32);
      s33 = fma(vec4<f32>(xb0.w), wb3, s33);
      s40 = fma(vec4<f32>(xb1.x), wb0, s40);
      s41 = fma(vec4<f32>(xb1.x), wb1, s41);
      s42 = fma(vec4<f32>(xb1.x), wb2, s42);
      s43 = fma(vec4<f32>(xb1.x), wb3, s43);
      s50 = fma(vec4<f32>(xb1.y), wb0, s50);
      s51 = fma(vec4<f32>(xb1.y), wb1, s51);
      s52 = fma(vec4<f32>(xb1.y), wb2, s52);
      s53 = fma(vec4<f32>(xb1.y), wb3, s53);
      s60 = fma(vec4<f32>(xb1.z), wb0, s60);
      s61 = fma(vec4<f32>(xb1.z), wb1, s61);
      s62 = fma(vec4<f32>(xb1.z), wb2, s62);
      s63 = fma(vec4<f32>(xb1.z), wb3, s63);
      s70 = fma(vec4<f32>(xb1.w), wb0, s70);
      s71 = fma(vec4<f32>(xb1.w), wb1, s71);
      s72 = fma(vec4<f32>(xb1.w), wb2, s72);
      s73 = fma(vec4<f32>(xb1.w), wb3, s73);
      let xc = current + (i + 2u) * VECTORS + ty;
      let wc = current + (i + 2u) * VECTORS + tx;
      let xc0 = x_tile[xc];
      let xc1 = x_tile[xc + 16u];
      let wc0 = w_tile[wc];
      let wc1 = w_tile[wc + 8u];
      let wc2 = w_tile[wc + 16u];
      let wc3 = w_tile[wc + 24u];
      s00 = fma(vec4<f32>(xc0.x), wc0, s00);
      s01 = fma(vec4<f32>(xc0.x), wc1, s01);
      s02 = fma(vec4<f32>(xc0.x), wc2, s02);
      s03 = fma(vec4<f32>(xc0.x), wc3, s03);
      s10 = fma(vec4<f32>(xc0.y), wc0, s10);
      s11 = fma(vec4<f32>(xc0.y), wc1, s11);
      s12 = fma(vec4<f32>(xc0.y), wc2, s12);
      s13 = fma(vec4<f32>(xc0.y), wc3, s13);
      s20 = fma(vec4<f32>(xc0.z), wc0, s20);
      s21 = fma(vec4<f32>(xc0.z), wc1, s21);
      s22 = fma(vec4<f32>(xc0.z), wc2, s22);
      s23 = fma(vec4<f32>(xc0.z), wc3, s23);
      s30 = fma(vec4<f32>(xc0.w), wc0, s30);
      s31 = fma(vec4<f32>(xc0.w), wc1, s31);
      s32 = fma(vec4<f32>(xc0.w), wc2, s32);
      s33 = fma(vec4<f32>(xc0.w), wc3, s33);
      s40 = fma(vec4<f32>(xc1.x), wc0, s40);
      s41 = fma(vec4<f32>(xc1.x), wc1, s41);
      s42 = fma(vec4<f32>(xc1.x), wc2, s42);
      s43 = fma(vec4<f32>(xc1.x), wc3, s43);
      s50 = fma(vec4<f32>(xc1.y), wc0, s50);
      s51 = fma(vec4<f32>(xc1.y), wc1, s51);
      s52 = fma(vec4<f32>(xc1.y), wc2, s52);
      s53 = fma(vec4<f32>(xc1.y), wc3, s53);
      s60 = fma(vec4<f32>(xc1.z), wc0, s60);
      s61 = fma(vec4<f32>(xc1.z), wc1, s61);
      s62 = fma(vec4<f32>(xc1.z), wc2, s62);
      s63 = fma(vec4<f32>(xc1.z), wc3, s63);
      s70 = fma(vec4<f32>(xc1.w), wc0, s70);
      s71 = fma(vec4<f32>(xc1.w), wc1, s71);
      s72 = fma(vec4<f32>(xc1.w), wc2, s72);
      s73 = fma(vec4<f32>(xc1.w), wc3, s73);
      let xd = current + (i + 3u) * VECTORS + ty;
      let wd = current + (i + 3u) * VECTORS + tx;
      let xd0 = x_tile[xd];
      let xd1 = x_tile[xd + 16u];
      let wd0 = w_tile[wd];
      let wd1 = w_tile[wd + 8u];
      let wd2 = w_tile[wd + 16u];
      let wd3 = w_tile[wd + 24u];
      s00 = fma(vec4<f32>(xd0.x), wd0, s00);
      s01 = fma(vec4<f32>(xd0.x), wd1, s01);
      s02 = fma(vec4<f32>(xd0.x), wd2, s02);
      s03 = fma(vec4<f32>(xd0.x), wd3, s03);
      s10 = fma(vec4<f32>(xd0.y), wd0, s10);
      s11 = fma(vec4<f32>(xd0.y), wd1, s11);
      s12 = fma(vec4<f32>(xd0.y), wd2, s12);
      s13 = fma(vec4<f32>(xd0.y), wd3, s13);
      s20 = fma(vec4<f32>(xd0.z), wd0, s20);
      s21 = fma(vec4<f32>(xd0.z), wd1, s21);
      s22 = fma(vec4<f32>(xd0.z), wd2, s22);
      s23 = fma(vec4<f32>(xd0.z), wd3, s23);
      s30 = fma(vec4<f32>(xd0.w), wd0, s30);
      s31 = fma(vec4<f32>(xd0.w), wd1, s31);
      s32 = fma(vec4<f32>(xd0.w), wd2, s32);
      s33 = fma(vec4<f32>(xd0.w), wd3, s33);
      s40 = fma(vec4<f32>(xd1.x), wd0, s40);
      s41 = fma(vec4<f32>(xd1.x), wd1, s41);
      s42 = fma(vec4<f32>(xd1.x), wd2, s42);
      s43 = fma(vec4<f32>(xd1.x), wd3, s43);
      s50 = fma(vec4<f32>(xd1.y), wd0, s50);
      s51 = fma(vec4<f32>(xd1.y), wd1, s51);
      s52 = fma(vec4<f32>(xd1.y), wd2, s52);
      s53 = fma(vec4<f32>(xd1.y), wd3, s53);
      s60 = fma(vec4<f32>(xd1.z), wd0, s60);
      s61 = fma(vec4<f32>(xd1.z), wd1, s61);
      s62 = fma(vec4<f32>(xd1.z), wd2, s62);
      s63 = fma(vec4<f32>(xd1.z), wd3, s63);
      s70 = fma(vec4<f32>(xd1.w), wd0, s70);
      s71 = fma(vec4<f32>(xd1.w), wd1, s71);
      s72 = fma(vec4<f32>(xd1.w), wd2, s72);
      s73 = fma(vec4<f32>(xd1.w), wd3, s73);
    }
    current = BUFFER - current;
    put_x(current, thread, 0u, x_next0);
    put_x(current, thread, 1u, x_next1);
    put_w(current, thread, 0u, w_next0);
    put_w(current, thread, 1u, w_next1);
    workgroupBarrier();
  }
  let row = first_row + ty * 4u;
  let column = first_column + tx * 4u;
  store_four(share.start, row, column, 1u, s00);
  store_four(share.start, row, column + 32u, 1u, s01);
  store_four(share.start, row, column + 64u, 1u, s02);
  store_four(share.start, row, column + 96u, 1u, s03);
  store_four(share.start, row + 1u, column, 1u, s10);
  store_four(share.start, row + 1u, column + 32u, 1u, s11);
  store_four(share.start, row + 1u, column + 64u, 1u, s12);
  store_four(share.start, row + 1u, column + 96u, 1u, s13);
  store_four(share.start, row + 2u, column, 1u, s20);
  store_four(share.start, row + 2u, column + 32u, 1u, s21);
  store_four(share.start, row + 2u, column + 64u, 1u, s22);
  store_four(share.start, row + 2u, column + 96u, 1u, s23);
  store_four(share.start, row + 3u, column, 1u, s30);
  store_four(share.start, row + 3u, column + 32u, 1u, s31);
  store_four(share.start, row + 3u, column + 64u, 1u, s32);
  store_four(share.start, row + 3u, column + 96u, 1u, s33);
  store_four(share.start, row + 64u, column, 1u, s40);
  store_four(share.start, row + 64u, column + 32u, 1u, s41);
  store_four(share.start, row + 64u, column + 64u, 1u, s42);
  store_four(share.start, row + 64u, column + 96u, 1u, s43);
  store_four(share.start, row + 65u, column, 1u, s50);
  store_four(share.start, row + 65u, column + 32u, 1u, s51);
  store_four(share.start, row + 65u, column + 64u, 1u, s52);
  store_four(share.start, row + 65u, column + 96u, 1u, s53);
  store_four(share.start, row + 66u, column, 1u, s60);
  store_four(share.start, row + 66u, column + 32u, 1u, s61);
  store_four(share.start, row + 66u, column + 64u, 1u, s62);
  store_four(share.start, row + 66u, column + 96u, 1u, s63);
  store_four(share.start, row + 67u, column, 1u, s70);
  store_four(share.start, row + 67u, column + 32u, 1u, s71);
  store_four(share.start, row + 67u, column + 64u, 1u, s72);
  store_four(share.start, row + 67u, column + 96u, 1u, s73);
}
