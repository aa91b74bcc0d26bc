// What attention's kernels on the matrix units share. A workgroup of SUBGROUPS subgroups of 32 has 64 rows, each subgroup 16 of them or twice
// 16, and walks over tiles of 32 columns: queries and keys, or keys and queries for d_k, d_v. Operands are halves (attention_halves.wgsl),
// rows of 64 values.
//
// A block of sums cannot be touched value by value, so the scores go through workgroup memory: `staging` has a subgroup's 16 rows of 32
// sums, from where two lanes take a row (lane 2 r and 2 r + 1 row r: of the columns the even ones and the odd ones, in an order that turns
// from four rows to the next, so that the 32 lanes read 32 banks), and `weights` takes what they make of them, as halves, the left operand
// of the second product.
//
// Vulkan wants the first value of a block, and the distance of its rows, at multiples of 16 bytes; so every variable of workgroup memory
// is a multiple of 16 bytes long, whatever order they are laid out in.

struct Params {
  length: u32,       // T
  padded: u32,       // P: T rounded up to tiles of 64
  batch: u32,
  heads: u32,        // H
  kv_heads: u32,     // Hkv
  head_dim: u32,     // D, at most 64
  first_group: u32,  // a long launch is cut into several
  groups: u32,       // of this launch
  k_start: u32,      // in halves, in vectors of eight
  v_start: u32,
  d_out_start: u32,
  window: u32,       // a query sees the last `window` keys only; 0: all
  packed: u32,       // 1: first_key holds for each query row the first key that it may see; 0: first_key is not read
  scale: f32,
}

alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sums = subgroup_matrix_result<f32, 16, 16>;

const THREADS: u32 = 32u * SUBGROUPS;
const ROWS: u32 = 64u;      // of a workgroup
const COLUMNS: u32 = 32u;   // of a tile
const WIDTH: u32 = 64u;     // halves of a row
const VECTORS: u32 = 8u;    // of a row
const LINE: u32 = 72u;      // halves from a row of a tile to the next: eight of padding against bank conflicts
const SLOT: u32 = 2304u;    // halves of a tile
const S_LINE: u32 = 40u;    // floats from a row of staging to the next
const S_AREA: u32 = 640u;   // 16 rows of them: a subgroup's
const P_LINE: u32 = 40u;    // halves from a row of weights to the next
const P_AREA: u32 = 640u;
const LOG2_E: f32 = 1.4426950408889634;
const MASKED: f32 = -3e38;
const NO_KEY: u32 = 0xffffffffu;  // behind every key

var<workgroup> tile: array<f16, SLOTS * SLOT>;
var<workgroup> staging: array<f32, SUBGROUPS * S_AREA>;
var<workgroup> weights: array<f16, SUBGROUPS * P_AREA>;
var<workgroup> row_keys: array<u32, ROWS>;
var<workgroup> found_key: vec4<u32>;  // the first: a variable of four bytes would move those behind it

// The first key that query row `row` of batch entry b sees; NO_KEY when it sees none.
fn lowest_key(b: u32, row: u32) -> u32 {
  if (row >= params.length) {
    return NO_KEY;
  }
  var lowest = select(0u, row + 1u - params.window, params.window != 0u && row + 1u > params.window);
  if (params.packed != 0u) {
    lowest = max(lowest, first_key[b * params.length + row]);
  }
  return select(NO_KEY, lowest, lowest <= row);
}

// Where the first tile of keys starts that any of the 64 rows from `first` on sees; behind all keys when there is none.
fn first_tile_of(b: u32, first: u32, thread: u32) -> u32 {
  if (thread < ROWS) {
    row_keys[thread] = lowest_key(b, first + thread);
  }
  workgroupBarrier();
  if (thread == 0u) {
    var lowest = NO_KEY;
    for (var i = 0u; i < ROWS; i += 1u) {
      lowest = min(lowest, row_keys[i]);
    }
    found_key.x = lowest / COLUMNS * COLUMNS;
  }
  return workgroupUniformLoad(&found_key).x;
}

// Rows of a tile on their way to workgroup memory, 32 for 128 threads: a thread has eight values of two, THREADS / 8 rows apart.
struct Fetched {
  low: vec4<u32>,
  high: vec4<u32>,
}

fn fetch(start: u32, row: u32, thread: u32) -> Fetched {
  let at = start + row * VECTORS + thread;
  return Fetched(vectors[at], vectors[at + THREADS]);
}

fn put_pair(place: u32, word: u32) {
  let pair = bitcast<vec2<f16>>(word);
  tile[place] = pair.x;
  tile[place + 1u] = pair.y;
}

fn put_row(place: u32, words: vec4<u32>) {
  put_pair(place, words.x);
  put_pair(place + 2u, words.y);
  put_pair(place + 4u, words.z);
  put_pair(place + 6u, words.w);
}

// Into the tiles from the row on that begins at `start`.
fn put(start: u32, thread: u32, fetched: Fetched) {
  let place = start + thread / VECTORS * LINE + thread % VECTORS * 8u;
  put_row(place, fetched.low);
  put_row(place + THREADS / VECTORS * LINE, fetched.high);
}

// A lane's four columns of eight, in its row's order.
fn order_of(lane: u32) -> vec4<u32> {
  return vec4<u32>(lane % 2u) + (vec4<u32>(0u, 2u, 4u, 6u) ^ vec4<u32>(lane / 8u * 2u));
}

fn columns_of(i: u32, lane: u32) -> vec4<u32> {
  return vec4<u32>(8u * i) + order_of(lane);
}

// Where a lane finds its first four values of staging and of weights.
fn s_place(subgroup: u32, lane: u32) -> vec4<u32> {
  return vec4<u32>(subgroup * S_AREA + lane / 2u * S_LINE) + order_of(lane);
}

fn p_place(subgroup: u32, lane: u32) -> vec4<u32> {
  return vec4<u32>(subgroup * P_AREA + lane / 2u * P_LINE) + order_of(lane);
}

// Sums of the columns columns_of(i) of a lane's row.
fn staged(at: vec4<u32>, i: u32) -> vec4<f32> {
  let place = at + vec4<u32>(8u * i);
  return vec4<f32>(staging[place.x], staging[place.y], staging[place.z], staging[place.w]);
}

fn put_weights(at: vec4<u32>, i: u32, values: vec4<f32>) {
  let halves = vec4<f16>(values);
  let place = at + vec4<u32>(8u * i);
  weights[place.x] = halves.x;
  weights[place.y] = halves.y;
  weights[place.z] = halves.z;
  weights[place.w] = halves.w;
}

// A power of two's inverse, exactly.
fn inverse(scale: f32) -> f32 {
  return bitcast<f32>(0x7f000000u - bitcast<u32>(scale));
}

// The product of two powers of two, held within 2^-100 and 2^100: scores beyond these are all the same, or as good as infinite.
fn product_of_powers(a: f32, b: f32) -> f32 {
  let exponent = i32(bitcast<u32>(a) >> 23u) + i32(bitcast<u32>(b) >> 23u) - 127;
  return bitcast<f32>(u32(clamp(exponent, 27, 227)) << 23u);
}

// A subgroup's 16 x 32 sums, each times its row's factor (of lane 2 r), one row after the other, into columns `first_column` to + 31 of the
// head's rows from `row` on; the kernel's function `write` knows the buffers.
fn write_sums(result: u32, left: Sums, right: Sums, area: u32, lane: u32, row: u32, first_column: u32, factor: vec2<f32>, at: u32,
              stride: u32) {
  subgroupMatrixStore(&staging, area, left, false, S_LINE);
  subgroupMatrixStore(&staging, area + 16u, right, false, S_LINE);
  workgroupBarrier();
  let column = first_column + lane;
  for (var r = 0u; r < 16u; r += 1u) {
    let of_row = subgroupShuffle(factor, 2u * r);
    if (row + r < params.length && column < params.head_dim) {
      write(result, at + r * stride + column, staging[area + r * S_LINE + lane] * of_row.x * of_row.y);
    }
  }
  workgroupBarrier();
}

// 16 rows, held as left operands of 16 columns each, times 16 rows of a tile that begin at `start`.
fn products(a0: Left, a1: Left, a2: Left, a3: Left, start: u32) -> Sums {
  var sums = Sums();
  sums = subgroupMatrixMultiplyAccumulate(a0, subgroupMatrixLoad<Right>(&tile, start, true, LINE), sums);
  sums = subgroupMatrixMultiplyAccumulate(a1, subgroupMatrixLoad<Right>(&tile, start + 16u, true, LINE), sums);
  sums = subgroupMatrixMultiplyAccumulate(a2, subgroupMatrixLoad<Right>(&tile, start + 32u, true, LINE), sums);
  return subgroupMatrixMultiplyAccumulate(a3, subgroupMatrixLoad<Right>(&tile, start + 48u, true, LINE), sums);
}

// before + weights (two left operands of 16 columns) times 16 columns of a tile's 32 rows, from `start` on.
fn add_rows(w0: Left, w1: Left, start: u32, before: Sums) -> Sums {
  let sums = subgroupMatrixMultiplyAccumulate(w0, subgroupMatrixLoad<Right>(&tile, start, false, LINE), before);
  return subgroupMatrixMultiplyAccumulate(w1, subgroupMatrixLoad<Right>(&tile, start + 16u * LINE, false, LINE), sums);
}
