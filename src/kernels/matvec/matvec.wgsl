// y[N] (+)= operand[K] @ W[N,K]^T for one row, as in decoding. What it costs is a launch and the reading of W. A workgroup has 256 / LANES
// rows of W. The lanes of a row read neighbouring vectors of it, four each before the first is used, so that all are on their way at once.
// The operand is made from x by every row anew: it comes from the cache, and a launch of its own would take longer. The root of a norm
// is the same for all of x, so it divides the sum; the squares are added on the way. Then the lanes' sums are added by a fixed tree, four
// at a time.
// Joined behind a file that reads W (matvec_w_*), one that reads x (matvec_x_*) and one that makes the operand (matvec_plain, matvec_rms_norm,
// matvec_swiglu).
//   binding 0  read        x      (K) f32, vec4 where K is divisible by 4
//   binding 1  read        factor (K) f32, likewise: weight of the norm, or up; plain: x again, not read
//   binding 2  read        w      (N, K) f32 as vec4 (f16: vec2<u32>; Q8_0 blocks: u32; rows that are no whole vectors: one by one)
//   binding 3  read_write  y      (N) f32
//   binding 4  uniform     params
// Grid: ceil(N / (256 / LANES)), folded on x and y.

struct Params {
  terms: u32,    // K
  columns: u32,  // N
  eps: f32,      // of the norm
}

@group(0) @binding(0) var<storage, read> x: array<XValue>;
@group(0) @binding(1) var<storage, read> factor: array<XValue>;
@group(0) @binding(2) var<storage, read> w: array<WValue>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

const THREADS: u32 = 256u;
const ROWS: u32 = THREADS / LANES;
const AHEAD: u32 = 4u;
const LEFT: u32 = select(2u, 4u, LANES == 64u);  // lanes whose sums are left behind the tree

// Of each lane: its sum, and of the squares that a norm needs.
var<workgroup> partial_sums: array<vec2<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let first_row = (group.x + group.y * groups.x) * ROWS;
  let lane = thread % LANES;
  let row = min(first_row + thread / LANES, params.columns - 1u);
  let last = (params.terms - 1u) / 4u * 4u;

  var sums = vec2<f32>(0.0);
  for (var first = lane * 4u; first < params.terms; first += AHEAD * LANES * 4u) {
    var weights = array<vec4<f32>, AHEAD>();
    var operands = array<Operand, AHEAD>();
    for (var i = 0u; i < AHEAD; i += 1u) {
      let k = first + i * LANES * 4u;
      // Beyond the end the last values come again, and do not count.
      weights[i] = load_w(row, min(k, last));
      operands[i] = load_operand(min(k, last), k <= last);
    }
    for (var i = 0u; i < AHEAD; i += 1u) {
      sums += vec2<f32>(dot(operands[i].values, weights[i]), operands[i].squares);
    }
  }

  partial_sums[thread] = sums;
  workgroupBarrier();
  for (var width = LANES / 4u; width >= 2u; width /= 4u) {
    if (lane < width) {
      for (var i = 1u; i < 4u; i += 1u) {
        sums += partial_sums[thread + i * width];
      }
      partial_sums[thread] = sums;
    }
    workgroupBarrier();
  }
  if (lane == 0u && first_row + thread / LANES < params.columns) {
    for (var i = 1u; i < LEFT; i += 1u) {
      sums += partial_sums[thread + i];
    }
    let total = finish(sums);
    y[row] = select(total, y[row] + total, ACCUMULATE);
  }
}
