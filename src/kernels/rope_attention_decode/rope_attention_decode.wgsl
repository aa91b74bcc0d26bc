// One token over a key/value cache: q and k are rotated, k and v written behind the cache's rows, and out = softmax(q k^T scale) v over
// all of them with the new one. A workgroup has a head; it rotates its group's key itself, and the first head of the group writes it, so
// that no head waits for another. No head reads the new row from the cache. A thread has a key for the scores, then four columns of v and
// every n-th row. Sums by fixed trees, four at a time. Source: Su et al. 2021, arXiv:2104.09864; Ainslie et al. 2023, arXiv:2305.13245.
//   binding 0  read        q        (H*D/4) vec4<f32>
//   binding 1  read        k        (Hkv*D/4) vec4<f32>
//   binding 2  read        v        (Hkv*D/4) vec4<f32>
//   binding 3  read        table    (positions, D/4) vec4<f32>: D/2 cosines, then D/2 sines
//   binding 4  read_write  k_cache  (capacity, Hkv*D/4) vec4<f32>; row `position` is written
//   binding 5  read_write  v_cache  (capacity, Hkv*D/4) vec4<f32>; likewise
//   binding 6  read_write  out      (H*D/4) vec4<f32>
//   binding 7  uniform     Params
// Grid: H, folded on x and y.

struct Params {
  heads: u32,
  kv_heads: u32,
  columns: u32,   // D/4, even, at most 64
  position: u32,  // below MOST_ROWS
  scale: f32,
}

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> table: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> k_cache: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> v_cache: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(7) var<uniform> params: Params;

const MOST_COLUMNS: u32 = 64u;
const MASKED: f32 = -3e38;

var<workgroup> query: array<vec4<f32>, MOST_COLUMNS>;
var<workgroup> new_key: array<vec4<f32>, MOST_COLUMNS>;
var<workgroup> weights: array<f32, MOST_ROWS>;  // scores first
var<workgroup> reduction: array<f32, THREADS>;
var<workgroup> sums: array<vec4<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let head = group.x + group.y * groups.x;
  if (head >= params.heads) {
    return;
  }
  let columns = params.columns;
  let half = columns / 2u;
  let group_heads = params.heads / params.kv_heads;
  let kv_head = head / group_heads;
  let position = params.position;

  if (thread < columns) {
    let i = thread % half;
    let cosine = table[position * columns + i];
    let sine = table[position * columns + half + i];
    if (thread < half) {
      let first = q[head * columns + i];
      let second = q[head * columns + half + i];
      query[i] = first * cosine - second * sine;
      query[i + half] = second * cosine + first * sine;
    } else {
      let first = k[kv_head * columns + i];
      let second = k[kv_head * columns + half + i];
      new_key[i] = first * cosine - second * sine;
      new_key[i + half] = second * cosine + first * sine;
    }
  }
  workgroupBarrier();
  if (head % group_heads == 0u && thread < columns) {
    let to = (position * params.kv_heads + kv_head) * columns + thread;
    k_cache[to] = new_key[thread];
    v_cache[to] = v[kv_head * columns + thread];
  }

  var largest = MASKED;
  for (var row = thread; row <= position; row += THREADS) {
    let start = (row * params.kv_heads + kv_head) * columns;
    let is_new = row == position;
    var sum = 0.0;
    for (var c = 0u; c < columns; c += 1u) {
      if (is_new) {
        sum += dot(query[c], new_key[c]);
      } else {
        sum += dot(query[c], k_cache[start + c]);
      }
    }
    let score = sum * params.scale;
    weights[row] = score;
    largest = max(largest, score);
  }
  reduction[thread] = largest;
  workgroupBarrier();
  for (var width = THREADS / 4u; width >= 1u; width /= 4u) {
    if (thread < width) {
      largest = max(max(largest, reduction[thread + width]),
                    max(reduction[thread + 2u * width], reduction[thread + 3u * width]));
      reduction[thread] = largest;
    }
    workgroupBarrier();
  }
  largest = reduction[0];
  workgroupBarrier();

  var total = 0.0;
  for (var row = thread; row <= position; row += THREADS) {
    let weight = exp(max(weights[row] - largest, -100.0));
    weights[row] = weight;
    total += weight;
  }
  reduction[thread] = total;
  workgroupBarrier();
  for (var width = THREADS / 4u; width >= 1u; width /= 4u) {
    if (thread < width) {
      total += reduction[thread + width];
      total += reduction[thread + 2u * width];
      total += reduction[thread + 3u * width];
      reduction[thread] = total;
    }
    workgroupBarrier();
  }

  let column = thread % columns;
  let lanes = THREADS / columns;  // threads that share a column
  let lane = thread / columns;
  var sum = vec4<f32>(0.0);
  if (lane < lanes) {
    for (var row = lane; row < position; row += lanes) {
      sum += weights[row] * v_cache[(row * params.kv_heads + kv_head) * columns + column];
    }
    if (lane == 0u) {
      sum += weights[position] * v[kv_head * columns + column];
    }
  }
  sums[thread] = sum;
  workgroupBarrier();
  for (var count = lanes; count > 1u; count = (count + 3u) / 4u) {
    let quarter = (count + 3u) / 4u;
    if (lane < quarter) {
      for (var i = 1u; i < 4u; i += 1u) {
        let other = lane + i * quarter;
        if (other < count) {
          sum += sums[other * columns + column];
        }
      }
      sums[thread] = sum;
    }
    workgroupBarrier();
  }
  if (thread < columns) {
    out[head * columns + thread] = sum / reduction[0];
  }
}
