// One piece of 128 cache rows for one query row and head: the sum of weights * v relative to the piece's largest score, with that
// score and the sum of weights. attention_decode_join.wgsl joins the pieces, so that a long cache keeps the whole device busy.
// One workgroup of 128 threads: a thread a key for the scores, a thread four columns of v for the sum. One pipeline serves all D.
// Source: Dao et al. 2023, "Flash-Decoding for long-context inference". Joined behind attention_load_*.wgsl and soft_cap.wgsl.
//   binding 0  read        q             (rows, H*D) f32, vec4 where D is divisible by 4
//   binding 1  read        k             (capacity, Hkv*D) f32, vec4 where D is divisible by 4
//   binding 2  read        v             (capacity, Hkv*D) f32, vec4 where D is divisible by 4
//   binding 3  read_write  partial_sums  (rows, H, pieces, D + 2) f32: the sum, the largest score, the sum of weights
//   binding 4  uniform     Params
// Grid: rows * H * pieces, folded on x and y.

struct Params {
  groups: u32,       // rows * H * pieces
  position: u32,     // query row r sees cache rows up to position + r
  heads: u32,
  kv_heads: u32,
  first_piece: u32,  // the first of the cache that a row sees
  pieces: u32,       // from there on
  window: u32,       // a row sees the last `window` cache rows only; 0: all
  scale: f32,
  head_dim: u32,     // D, at most 256
  soft_cap: f32,     // of the scores; 0: none
  inverse_cap: f32,  // 1 / soft_cap; 0: none
}

@group(0) @binding(3) var<storage, read_write> partial_sums: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

alias Value = f32;

const THREADS: u32 = 128u;
const MASKED: f32 = -3e38;

var<workgroup> query: array<vec4<f32>, 64>;
var<workgroup> weights: array<f32, THREADS>;
var<workgroup> reduction: array<f32, THREADS>;
var<workgroup> sums: array<vec4<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = group.x + group.y * groups.x;
  if (index >= params.groups) {
    return;
  }
  let piece = index % params.pieces;
  let head_row = index / params.pieces;
  let row = head_row / params.heads;
  let kv_head = head_row % params.heads / (params.heads / params.kv_heads);
  let first = (params.first_piece + piece) * THREADS;
  let seen = params.position + row + 1u;
  let lowest = select(0u, seen - params.window, params.window != 0u && seen > params.window);
  let visible = first + thread >= lowest && first + thread < seen;
  let columns = (params.head_dim + 3u) / 4u;  // vec4s of a row
  let key_lanes = THREADS / columns;          // threads that share a column; each has every key_lanes-th key

  if (thread < columns) {
    query[thread] = load_q(head_row * params.head_dim, thread * 4u);
  }
  workgroupBarrier();
  var score = MASKED;
  if (visible) {
    let start = ((first + thread) * params.kv_heads + kv_head) * params.head_dim;
    var sum = 0.0;
    for (var c = 0u; c < columns; c += 1u) {
      sum += dot(query[c], load_k(start, c * 4u));
    }
    score = soft_cap(sum * params.scale);
  }
  reduction[thread] = score;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      reduction[thread] = max(reduction[thread], reduction[thread + stride]);
    }
    workgroupBarrier();
  }
  let largest = reduction[0];
  workgroupBarrier();
  let weight = select(0.0, exp(max(score - largest, -100.0)), visible);
  weights[thread] = weight;
  reduction[thread] = weight;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      reduction[thread] += reduction[thread + stride];
    }
    workgroupBarrier();
  }

  let column = thread % columns;
  var sum = vec4<f32>(0.0);
  if (thread < key_lanes * columns) {
    for (var j = thread / columns; j < THREADS && first + j < seen; j += key_lanes) {
      sum += weights[j] * load_v(((first + j) * params.kv_heads + kv_head) * params.head_dim, column * 4u);
    }
  }
  sums[thread] = sum;
  workgroupBarrier();
  let out = index * (params.head_dim + 2u);
  if (thread < columns) {
    for (var lane = 1u; lane < key_lanes; lane += 1u) {
      sum += sums[lane * columns + thread];
    }
    for (var i = 0u; i < 4u; i += 1u) {
      if (thread * 4u + i < params.head_dim) {
        partial_sums[out + thread * 4u + i] = sum[i];
      }
    }
  }
  if (thread == 0u) {
    partial_sums[out + params.head_dim] = largest;
    partial_sums[out + params.head_dim + 1u] = reduction[0];
  }
}
