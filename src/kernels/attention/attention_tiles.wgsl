// What the tiled kernels of attention share: which keys a row sees, staging of 32 rows x 32 columns in workgroup memory, and the two
// products. One workgroup of 64 threads (8 x 8) has a tile of 32 rows and walks over tiles of 32 columns: queries and keys, or keys and
// queries for d_k, d_v.
// Thread (tx, ty) has rows 4 ty .. 4 ty + 3; of the scores columns tx, tx + 8, tx + 16, tx + 24, so that the threads of a row read
// neighbouring, padded lines of workgroup memory; of the accumulator columns 32 c + 4 tx .. + 3 for each chunk c of 32.
// The prelude gives CHUNKS = ceil(D / 32), so that the accumulator lies in registers. At most 14,596 bytes of workgroup memory whatever D is.
// Loops that touch no accumulator take their bounds from Params: unrolled, they made software Vulkan compile for 4 s a width
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
const ACCUMULATORS: u32 = 4u * CHUNKS;  // vec4s: chunk c, row r in c * 4 + r
const LINE: u32 = 9u;                   // vec4s of a row of a chunk: 8 and one of padding against bank conflicts
const SLOT: u32 = 288u;                 // TILE * LINE
const MASKED: f32 = -3e38;
const NO_KEY: u32 = 0xffffffffu;        // behind every key
const NOWHERE: u32 = 0xffffffffu;       // no element of a buffer

alias Value = vec4<f32>;
alias Scores = array<vec4<f32>, 4>;     // row r, columns tx + 8 c in component c
alias Accumulator = array<vec4<f32>, ACCUMULATORS>;

var<workgroup> tile: array<vec4<f32>, 576>;      // two chunks of 32 x 32
var<workgroup> weights: array<vec4<f32>, 256>;   // column j, rows 4 ty .. 4 ty + 3 in j * 8 + ty
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

fn stage_q(slot: u32, b: u32, first: u32, head: u32, chunk: u32, thread: u32) {
  for (var n = thread; n < 256u; n += 64u) {
    let row = first + n / 8u;
    let d = chunk * 32u + n % 8u * 4u;
    var value = vec4<f32>(0.0);
    if (row < params.length && d < params.head_dim) {
      value = load_q(((b * params.length + row) * params.heads + head) * params.head_dim, d);
    }
    tile[slot * SLOT + n / 8u * LINE + n % 8u] = value;
  }
}

fn stage_k(slot: u32, b: u32, first: u32, kv_head: u32, chunk: u32, thread: u32) {
  for (var n = thread; n < 256u; n += 64u) {
    let row = first + n / 8u;
    let d = chunk * 32u + n % 8u * 4u;
    var value = vec4<f32>(0.0);
    if (row < params.first_position + params.length && d < params.head_dim) {
      value = load_k(((b * params.key_rows + row) * params.kv_heads + kv_head) * params.head_dim, d);
    }
    tile[slot * SLOT + n / 8u * LINE + n % 8u] = value;
  }
}

fn stage_v(slot: u32, b: u32, first: u32, kv_head: u32, chunk: u32, thread: u32) {
  for (var n = thread; n < 256u; n += 64u) {
    let row = first + n / 8u;
    let d = chunk * 32u + n % 8u * 4u;
    var value = vec4<f32>(0.0);
    if (row < params.first_position + params.length && d < params.head_dim) {
      value = load_v(((b * params.key_rows + row) * params.kv_heads + kv_head) * params.head_dim, d);
    }
    tile[slot * SLOT + n / 8u * LINE + n % 8u] = value;
  }
}

// scores[r][c] += row 4 ty + r of slot 0 times row tx + 8 c of slot 1.
fn add_scores(scores: ptr<function, Scores>, tx: u32, ty: u32) {
  for (var i = 0u; i < params.line; i += 1u) {
    let b0 = tile[SLOT + tx * LINE + i];
    let b1 = tile[SLOT + (tx + 8u) * LINE + i];
    let b2 = tile[SLOT + (tx + 16u) * LINE + i];
    let b3 = tile[SLOT + (tx + 24u) * LINE + i];
    let x = vec4<f32>(b0.x, b1.x, b2.x, b3.x);
    let y = vec4<f32>(b0.y, b1.y, b2.y, b3.y);
    let z = vec4<f32>(b0.z, b1.z, b2.z, b3.z);
    let w = vec4<f32>(b0.w, b1.w, b2.w, b3.w);
    for (var r = 0u; r < 4u; r += 1u) {
      let a = tile[(ty * 4u + r) * LINE + i];
      var sum = fma(vec4<f32>(a.x), x, (*scores)[r]);
      sum = fma(vec4<f32>(a.y), y, sum);
      sum = fma(vec4<f32>(a.z), z, sum);
      (*scores)[r] = fma(vec4<f32>(a.w), w, sum);
    }
  }
}

// The columns of a thread's scores in a tile that starts at `first`.
fn columns_of(first: u32, tx: u32) -> vec4<u32> {
  return vec4<u32>(first + tx) + vec4<u32>(0u, 8u, 16u, 24u);
}

// Keeps a tile of weights for add_rows, four rows of a column side by side.
fn store_weights(values: ptr<function, Scores>, tx: u32, ty: u32) {
  for (var c = 0u; c < 4u; c += 1u) {
    weights[(tx + 8u * c) * 8u + ty] = vec4<f32>((*values)[0][c], (*values)[1][c], (*values)[2][c], (*values)[3][c]);
  }
}

// accumulator += weights times the rows staged in the slots: chunk `first` in slot 0, the next one in slot 1 if there is one.
fn add_rows(accumulator: ptr<function, Accumulator>, first: u32, tx: u32, ty: u32) {
  for (var j = 0u; j < params.tile; j += 1u) {
    let p = weights[j * 8u + ty];
    let a = tile[j * LINE + tx];
    let at = first * 4u;
    (*accumulator)[at] = fma(vec4<f32>(p.x), a, (*accumulator)[at]);
    (*accumulator)[at + 1u] = fma(vec4<f32>(p.y), a, (*accumulator)[at + 1u]);
    (*accumulator)[at + 2u] = fma(vec4<f32>(p.z), a, (*accumulator)[at + 2u]);
    (*accumulator)[at + 3u] = fma(vec4<f32>(p.w), a, (*accumulator)[at + 3u]);
    if (first + 1u < CHUNKS) {
      let b = tile[SLOT + j * LINE + tx];
      (*accumulator)[at + 4u] = fma(vec4<f32>(p.x), b, (*accumulator)[at + 4u]);
      (*accumulator)[at + 5u] = fma(vec4<f32>(p.y), b, (*accumulator)[at + 5u]);
      (*accumulator)[at + 6u] = fma(vec4<f32>(p.z), b, (*accumulator)[at + 6u]);
      (*accumulator)[at + 7u] = fma(vec4<f32>(p.w), b, (*accumulator)[at + 7u]);
    }
  }
}

// Puts chunk `chunk` of the accumulator, each row times its factor, into slot 0, whence the threads write it out side by side.
fn stage_result(accumulator: ptr<function, Accumulator>, factor: vec4<f32>, chunk: u32, tx: u32, ty: u32) {
  for (var r = 0u; r < 4u; r += 1u) {
    tile[(ty * 4u + r) * LINE + tx] = (*accumulator)[chunk * 4u + r] * factor[r];
  }
}

// Value n of the 32 x 32 that stage_result staged, and its element in rows of `heads` heads; NOWHERE behind the last row or column.
fn staged_result(n: u32) -> f32 {
  return tile[n / 32u * LINE + n % 32u / 4u][n % 4u];
}

fn element_of_result(n: u32, b: u32, first: u32, heads: u32, head: u32, chunk: u32) -> u32 {
  let row = first + n / 32u;
  let d = chunk * 32u + n % 32u;
  let element = ((b * params.length + row) * heads + head) * params.head_dim + d;
  return select(NOWHERE, element, row < params.length && d < params.head_dim);
}

// e^x for x at most about 0; far below it is as good as zero, and clamped so that no implementation sees a huge argument.
fn weight_of(x: vec4<f32>) -> vec4<f32> {
  return exp(clamp(x, vec4<f32>(-100.0), vec4<f32>(80.0)));
}
