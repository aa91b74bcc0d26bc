// What the tiled kernels of attention share: which keys a row sees, staging of 32 rows x 32 columns in workgroup memory, and the two
// products. One workgroup of 64 threads (8 x 8) has a tile of 32 rows and walks over tiles of 32 columns: queries and keys, or keys and
// queries for d_k, d_v.
// Thread (tx, ty) has rows 4 ty .. 4 ty + 3; of the scores columns tx, tx + 8, tx + 16, tx + 24, so that the threads of a row read
// neighbouring, padded lines of workgroup memory; of the result columns 32 c + 4 tx .. + 3 for each chunk c of 32.
// What a thread keeps lies in registers only while every index into it is a constant: a driver that meets one that is not puts the array
// into memory, and each multiply-add reads and writes it there. So rows are written out, and the blocks of a result are taken one by one
// where CHUNKS, ceil(D / 32) from the prelude, says that they are there. At most 14,980 bytes of workgroup memory whatever D is.
// Loops that touch no result take their bounds from Params: unrolled, they made software Vulkan compile for 4 s a width
// (2026-11-29). Variables declared in a loop have initialisers: wgpu-native 29 does not zero them again in the next round.

struct Params {
  length: u32,          // T: query rows of a batch entry
  key_rows: u32,        // key rows of a batch entry in memory
  first_position: u32,  // query t stands at position first_position + t and sees keys up to there
  batch: u32,
  heads: u32,           // H
  kv_heads: u32,        // Hkv
  first_group: u32,     // a long launch is cut into several
  groups: u32,          // of this launch
  scale: f32,
  chunks: u32,          // CHUNKS
  line: u32,            // vec4s of a row of a chunk: 8
  tile: u32,            // TILE
  head_dim: u32,        // D
  window: u32,          // a query sees the last `window` keys only; 0: all
  packed: u32,          // 1: first_key holds for each query row the first key that it may see; 0: first_key is not read
  soft_cap: f32,        // of the scores; 0: none
  inverse_cap: f32,     // 1 / soft_cap; 0: none
}

const TILE: u32 = 32u;
const LINE: u32 = 9u;                   // vec4s of a row of a chunk, or of a column of weights: 8 and one of padding against bank conflicts
const SLOT: u32 = 288u;                 // TILE * LINE
const MASKED: f32 = -3e38;
const NO_KEY: u32 = 0xffffffffu;        // behind every key

alias Value = vec4<f32>;
alias Four = mat4x4<f32>;               // [r]: row 4 ty + r

// Four rows of 64 columns of a result, or of rows on their way to workgroup memory.
struct Block {
  low: Four,   // of an even chunk
  high: Four,  // of the chunk behind it
}

alias Blocks = array<Block, 4>;         // ceil(CHUNKS / 2) of them are used; indexed by constants only

var<workgroup> tile: array<vec4<f32>, 576>;      // two chunks of 32 x 32
var<workgroup> weights: array<vec4<f32>, 288>;   // column j, rows 4 ty .. 4 ty + 3 in j * LINE + ty
var<workgroup> reduction: array<vec4<f32>, 64>;
var<workgroup> lowest_keys: array<u32, TILE>;
var<workgroup> first_tile: u32;

// The first key that query row `row` of batch entry b sees; it lies behind the row's own position when the row sees none.
fn lowest_key(b: u32, row: u32) -> u32 {
  if (row >= params.length) {
    return NO_KEY;
  }
  let seen = params.first_position + row + 1u;
  var lowest = select(0u, seen - params.window, params.window != 0u && seen > params.window);
  if (params.packed != 0u) {
    lowest = max(lowest, first_key[b * params.length + row]);
  }
  return select(NO_KEY, lowest, lowest < seen);
}

// Where the first tile of keys starts that any of the 32 query rows from `first` on sees; behind all keys when there is none.
fn first_tile_of(b: u32, first: u32, thread: u32) -> u32 {
  if (thread < TILE) {
    lowest_keys[thread] = lowest_key(b, first + thread);
  }
  workgroupBarrier();
  if (thread == 0u) {
    var lowest = NO_KEY;
    for (var i = 0u; i < params.tile; i += 1u) {
      lowest = min(lowest, lowest_keys[i]);
    }
    first_tile = lowest / TILE * TILE;
  }
  return workgroupUniformLoad(&first_tile);
}

// Rows of a head begin `stride` elements apart; `start` is the batch entry's first.
struct Side {
  start: u32,
  stride: u32,
  rows: u32,
}

fn query_side(b: u32, head: u32) -> Side {
  return Side((b * params.length * params.heads + head) * params.head_dim, params.heads * params.head_dim, params.length);
}

fn key_side(b: u32, kv_head: u32) -> Side {
  return Side((b * params.key_rows * params.kv_heads + kv_head) * params.head_dim, params.kv_heads * params.head_dim,
              params.first_position + params.length);
}

fn is_inside(side: Side, row: u32, d: u32) -> bool {
  return row < side.rows && d < params.head_dim;
}

// The row's first element, of the first row in place of one that is not there, so that every thread may read.
fn row_start(side: Side, row: u32, inside: bool) -> u32 {
  return side.start + select(0u, row, inside) * side.stride;
}

fn q_at(side: Side, row: u32, d: u32) -> vec4<f32> {
  let inside = is_inside(side, row, d);
  return select(vec4<f32>(0.0), load_q(row_start(side, row, inside), select(0u, d, inside)), inside);
}

fn k_at(side: Side, row: u32, d: u32) -> vec4<f32> {
  let inside = is_inside(side, row, d);
  return select(vec4<f32>(0.0), load_k(row_start(side, row, inside), select(0u, d, inside)), inside);
}

fn v_at(side: Side, row: u32, d: u32) -> vec4<f32> {
  let inside = is_inside(side, row, d);
  return select(vec4<f32>(0.0), load_v(row_start(side, row, inside), select(0u, d, inside)), inside);
}

// 32 rows x 32 columns, on their way to workgroup memory: a thread brings four columns of four rows, 8 rows apart. They are fetched before
// the barrier that frees a slot, all four on their way at a time.
fn fetch_q(b: u32, first: u32, head: u32, chunk: u32, thread: u32) -> Four {
  let side = query_side(b, head);
  let row = first + thread / 8u;
  let d = chunk * 32u + thread % 8u * 4u;
  return Four(q_at(side, row, d), q_at(side, row + 8u, d), q_at(side, row + 16u, d), q_at(side, row + 24u, d));
}

fn fetch_k(b: u32, first: u32, kv_head: u32, chunk: u32, thread: u32) -> Four {
  let side = key_side(b, kv_head);
  let row = first + thread / 8u;
  let d = chunk * 32u + thread % 8u * 4u;
  return Four(k_at(side, row, d), k_at(side, row + 8u, d), k_at(side, row + 16u, d), k_at(side, row + 24u, d));
}

fn fetch_v(b: u32, first: u32, kv_head: u32, chunk: u32, thread: u32) -> Four {
  let side = key_side(b, kv_head);
  let row = first + thread / 8u;
  let d = chunk * 32u + thread % 8u * 4u;
  return Four(v_at(side, row, d), v_at(side, row + 8u, d), v_at(side, row + 16u, d), v_at(side, row + 24u, d));
}

fn stage(slot: u32, thread: u32, rows: Four) {
  let at = slot * SLOT + thread / 8u * LINE + thread % 8u;
  tile[at] = rows[0];
  tile[at + 8u * LINE] = rows[1];
  tile[at + 16u * LINE] = rows[2];
  tile[at + 24u * LINE] = rows[3];
}

// sum + four terms for each of four columns; terms[i] has term i of all columns.
fn add_four(sum: vec4<f32>, row: vec4<f32>, terms: Four) -> vec4<f32> {
  let half = fma(vec4<f32>(row.y), terms[1], fma(vec4<f32>(row.x), terms[0], sum));
  return fma(vec4<f32>(row.w), terms[3], fma(vec4<f32>(row.z), terms[2], half));
}

// scores[r][c] + four terms of row 4 ty + r of slot 0 times row tx + 8 c of slot 1.
fn add_terms(scores: Four, i: u32, tx: u32, ty: u32) -> Four {
  let right = SLOT + tx * LINE + i;
  let terms = transpose(Four(tile[right], tile[right + 8u * LINE], tile[right + 16u * LINE], tile[right + 24u * LINE]));
  let left = ty * 4u * LINE + i;
  return Four(add_four(scores[0], tile[left], terms), add_four(scores[1], tile[left + LINE], terms),
              add_four(scores[2], tile[left + 2u * LINE], terms), add_four(scores[3], tile[left + 3u * LINE], terms));
}

fn add_scores(scores: Four, tx: u32, ty: u32) -> Four {
  var sums = scores;
  for (var i = 0u; i < params.line; i += 2u) {
    sums = add_terms(sums, i, tx, ty);
    sums = add_terms(sums, i + 1u, tx, ty);
  }
  return sums;
}

// The columns of a thread's scores in a tile that starts at `first`.
fn columns_of(first: u32, tx: u32) -> vec4<u32> {
  return vec4<u32>(first + tx) + vec4<u32>(0u, 8u, 16u, 24u);
}

// Keeps a tile of weights for add_rows, four rows of a column side by side.
fn store_weights(values: Four, tx: u32, ty: u32) {
  let columns = transpose(values);
  weights[tx * LINE + ty] = columns[0];
  weights[(tx + 8u) * LINE + ty] = columns[1];
  weights[(tx + 16u) * LINE + ty] = columns[2];
  weights[(tx + 24u) * LINE + ty] = columns[3];
}

fn add_outer(sums: Four, left: vec4<f32>, right: vec4<f32>) -> Four {
  return Four(fma(vec4<f32>(left.x), right, sums[0]), fma(vec4<f32>(left.y), right, sums[1]),
              fma(vec4<f32>(left.z), right, sums[2]), fma(vec4<f32>(left.w), right, sums[3]));
}

// block + the weights of column j times row j of the slots: chunk `chunk` in slot 0, the next one in slot 1 if there is one.
fn add_row(block: Block, j: u32, chunk: u32, tx: u32, ty: u32) -> Block {
  let p = weights[j * LINE + ty];
  let low = add_outer(block.low, p, tile[j * LINE + tx]);
  if (chunk + 1u < CHUNKS) {
    return Block(low, add_outer(block.high, p, tile[SLOT + j * LINE + tx]));
  }
  return Block(low, block.high);
}

// block + the stored weights times 64 columns of rows, which have been fetched from chunk `chunk` on.
fn add_rows(block: Block, rows: Block, chunk: u32, thread: u32) -> Block {
  let tx = thread % 8u;
  let ty = thread / 8u;
  workgroupBarrier();
  stage(0u, thread, rows.low);
  if (chunk + 1u < CHUNKS) {
    stage(1u, thread, rows.high);
  }
  workgroupBarrier();
  var sums = block;
  for (var j = 0u; j < params.tile; j += 4u) {
    sums = add_row(sums, j, chunk, tx, ty);
    sums = add_row(sums, j + 1u, chunk, tx, ty);
    sums = add_row(sums, j + 2u, chunk, tx, ty);
    sums = add_row(sums, j + 3u, chunk, tx, ty);
  }
  return sums;
}

fn scaled(values: Four, factor: vec4<f32>) -> Four {
  return Four(values[0] * factor.x, values[1] * factor.y, values[2] * factor.z, values[3] * factor.w);
}

fn scaled_block(block: Block, factor: vec4<f32>) -> Block {
  return Block(scaled(block.low, factor), scaled(block.high, factor));
}

// Where a result's rows lie.
struct Rows {
  b: u32,
  first: u32,  // of the tile
  heads: u32,  // of a row of the result
  head: u32,
}

// Writes a block that begins with chunk `chunk` into the kernel's result number `result`: its function `write` knows the buffer. Through
// the slots, so that threads write side by side.
fn write_block(result: u32, block: Block, chunk: u32, rows: Rows, thread: u32) {
  let at = thread / 8u * 4u * LINE + thread % 8u;
  workgroupBarrier();
  tile[at] = block.low[0];
  tile[at + LINE] = block.low[1];
  tile[at + 2u * LINE] = block.low[2];
  tile[at + 3u * LINE] = block.low[3];
  tile[SLOT + at] = block.high[0];
  tile[SLOT + at + LINE] = block.high[1];
  tile[SLOT + at + 2u * LINE] = block.high[2];
  tile[SLOT + at + 3u * LINE] = block.high[3];
  workgroupBarrier();
  for (var n = thread; n < 2048u; n += 64u) {
    let row = rows.first + n / 64u;
    let column = n % 64u;
    let d = chunk * 32u + column;
    if (row < params.length && d < params.head_dim) {
      let value = tile[column / 32u * SLOT + n / 64u * LINE + column % 32u / 4u][column % 4u];
      write(result, ((rows.b * params.length + row) * rows.heads + rows.head) * params.head_dim + d, value);
    }
  }
}

// e^x for x at most about 0; far below it is as good as zero, and clamped so that no implementation sees a huge argument.
fn weight_of(x: vec4<f32>) -> vec4<f32> {
  return exp(clamp(x, vec4<f32>(-100.0), vec4<f32>(80.0)));
}
