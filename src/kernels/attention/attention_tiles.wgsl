// What the tiled kernels of attention share: which keys a row sees, staging of 32 rows x 32 columns in workgroup memory, and the two
// products. One workgroup of 64 threads (8 x 8) has a tile of 32 rows and walks over tiles of 32 columns: queries and keys, or keys and
// queries for d_k, d_v.
// Thread (tx, ty) has rows 4 ty .. 4 ty + 3; of the scores columns tx, tx + 8, tx + 16, tx + 24, so that the threads of a row read
// neighbouring, padded lines of workgroup memory; of the result columns 32 c + 4 tx .. + 3 for each chunk c of 32.
// What a thread keeps lies in registers only while every index into it is a constant: a driver that meets one that is not puts the array
// into memory, and each multiply-add reads and writes it there. So rows are written out, and the blocks of a result are taken one by one
// where CHUNKS, ceil(D / 32) from the prelude, says that they are there. At most 15,248 bytes of workgroup memory whatever D is.
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

// Four rows of 64 columns of a result.
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

// Four values from column d on of query row `row`, or of a key's row below: zeros behind the last row and the last column.
fn q_at(b: u32, row: u32, head: u32, d: u32) -> vec4<f32> {
  let start = ((b * params.length + min(row, params.length - 1u)) * params.heads + head) * params.head_dim;
  let inside = row < params.length && d < params.head_dim;
  return select(vec4<f32>(0.0), load_q(start, select(0u, d, inside)), inside);
}

fn key_start(b: u32, row: u32, kv_head: u32) -> u32 {
  let last = params.first_position + params.length - 1u;
  return ((b * params.key_rows + min(row, last)) * params.kv_heads + kv_head) * params.head_dim;
}

fn k_at(b: u32, row: u32, kv_head: u32, d: u32) -> vec4<f32> {
  let inside = row < params.first_position + params.length && d < params.head_dim;
  return select(vec4<f32>(0.0), load_k(key_start(b, row, kv_head), select(0u, d, inside)), inside);
}

fn v_at(b: u32, row: u32, kv_head: u32, d: u32) -> vec4<f32> {
  let inside = row < params.first_position + params.length && d < params.head_dim;
  return select(vec4<f32>(0.0), load_v(key_start(b, row, kv_head), select(0u, d, inside)), inside);
}

// Stages 32 rows x 32 columns: a thread brings four columns of four rows, 8 rows apart, and has all four on their way at a time.
fn place(slot: u32, thread: u32, rows: Four) {
  let at = slot * SLOT + thread / 8u * LINE + thread % 8u;
  tile[at] = rows[0];
  tile[at + 8u * LINE] = rows[1];
  tile[at + 16u * LINE] = rows[2];
  tile[at + 24u * LINE] = rows[3];
}

fn stage_q(slot: u32, b: u32, first: u32, head: u32, chunk: u32, thread: u32) {
  let row = first + thread / 8u;
  let d = chunk * 32u + thread % 8u * 4u;
  place(slot, thread, Four(q_at(b, row, head, d), q_at(b, row + 8u, head, d), q_at(b, row + 16u, head, d), q_at(b, row + 24u, head, d)));
}

fn stage_k(slot: u32, b: u32, first: u32, kv_head: u32, chunk: u32, thread: u32) {
  let row = first + thread / 8u;
  let d = chunk * 32u + thread % 8u * 4u;
  place(slot, thread,
        Four(k_at(b, row, kv_head, d), k_at(b, row + 8u, kv_head, d), k_at(b, row + 16u, kv_head, d), k_at(b, row + 24u, kv_head, d)));
}

fn stage_v(slot: u32, b: u32, first: u32, kv_head: u32, chunk: u32, thread: u32) {
  let row = first + thread / 8u;
  let d = chunk * 32u + thread % 8u * 4u;
  place(slot, thread,
        Four(v_at(b, row, kv_head, d), v_at(b, row + 8u, kv_head, d), v_at(b, row + 16u, kv_head, d), v_at(b, row + 24u, kv_head, d)));
}

// sum + four terms for each of four columns; terms[i] has term i of all columns.
fn add_four(sum: vec4<f32>, row: vec4<f32>, terms: Four) -> vec4<f32> {
  let half = fma(vec4<f32>(row.y), terms[1], fma(vec4<f32>(row.x), terms[0], sum));
  return fma(vec4<f32>(row.w), terms[3], fma(vec4<f32>(row.z), terms[2], half));
}

// scores[r][c] + row 4 ty + r of slot 0 times row tx + 8 c of slot 1.
fn add_scores(scores: Four, tx: u32, ty: u32) -> Four {
  var sum0 = scores[0];
  var sum1 = scores[1];
  var sum2 = scores[2];
  var sum3 = scores[3];
  for (var i = 0u; i < params.line; i += 1u) {
    let right = SLOT + tx * LINE + i;
    let terms = transpose(Four(tile[right], tile[right + 8u * LINE], tile[right + 16u * LINE], tile[right + 24u * LINE]));
    let left = ty * 4u * LINE + i;
    sum0 = add_four(sum0, tile[left], terms);
    sum1 = add_four(sum1, tile[left + LINE], terms);
    sum2 = add_four(sum2, tile[left + 2u * LINE], terms);
    sum3 = add_four(sum3, tile[left + 3u * LINE], terms);
  }
  return Four(sum0, sum1, sum2, sum3);
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

// block + weights times the rows staged in the slots: chunk `chunk` in slot 0, the next one in slot 1 if there is one.
fn add_rows(block: Block, chunk: u32, tx: u32, ty: u32) -> Block {
  var low0 = block.low[0];
  var low1 = block.low[1];
  var low2 = block.low[2];
  var low3 = block.low[3];
  var high0 = block.high[0];
  var high1 = block.high[1];
  var high2 = block.high[2];
  var high3 = block.high[3];
  for (var j = 0u; j < params.tile; j += 1u) {
    let p = weights[j * LINE + ty];
    let a = tile[j * LINE + tx];
    low0 = fma(vec4<f32>(p.x), a, low0);
    low1 = fma(vec4<f32>(p.y), a, low1);
    low2 = fma(vec4<f32>(p.z), a, low2);
    low3 = fma(vec4<f32>(p.w), a, low3);
    if (chunk + 1u < CHUNKS) {
      let c = tile[SLOT + j * LINE + tx];
      high0 = fma(vec4<f32>(p.x), c, high0);
      high1 = fma(vec4<f32>(p.y), c, high1);
      high2 = fma(vec4<f32>(p.z), c, high2);
      high3 = fma(vec4<f32>(p.w), c, high3);
    }
  }
  return Block(Four(low0, low1, low2, low3), Four(high0, high1, high2, high3));
}

fn scaled(values: Four, factor: vec4<f32>) -> Four {
  return Four(values[0] * factor.x, values[1] * factor.y, values[2] * factor.z, values[3] * factor.w);
}

fn scaled_block(block: Block, factor: vec4<f32>) -> Block {
  return Block(scaled(block.low, factor), scaled(block.high, factor));
}

// Four rows of a result, from `first` on.
struct Rows {
  b: u32,
  first: u32,
  heads: u32,  // of a row of the result
  head: u32,
}

fn write_four(result: u32, rows: Rows, r: u32, d: u32, values: vec4<f32>) {
  if (rows.first + r >= params.length) {
    return;
  }
  let start = ((rows.b * params.length + rows.first + r) * rows.heads + rows.head) * params.head_dim + d;
  if (d < params.head_dim) { write(result, start, values.x); }
  if (d + 1u < params.head_dim) { write(result, start + 1u, values.y); }
  if (d + 2u < params.head_dim) { write(result, start + 2u, values.z); }
  if (d + 3u < params.head_dim) { write(result, start + 3u, values.w); }
}

// Writes a block that begins with chunk `chunk` into the kernel's result number `result`: its function `write` knows the buffer.
fn write_block(result: u32, block: Block, chunk: u32, rows: Rows, tx: u32) {
  let d = chunk * 32u + tx * 4u;
  write_four(result, rows, 0u, d, block.low[0]);
  write_four(result, rows, 1u, d, block.low[1]);
  write_four(result, rows, 2u, d, block.low[2]);
  write_four(result, rows, 3u, d, block.low[3]);
  write_four(result, rows, 0u, d + 32u, block.high[0]);
  write_four(result, rows, 1u, d + 32u, block.high[1]);
  write_four(result, rows, 2u, d + 32u, block.high[2]);
  write_four(result, rows, 3u, d + 32u, block.high[3]);
}

// e^x for x at most about 0; far below it is as good as zero, and clamped so that no implementation sees a huge argument.
fn weight_of(x: vec4<f32>) -> vec4<f32> {
  return exp(clamp(x, vec4<f32>(-100.0), vec4<f32>(80.0)));
}
