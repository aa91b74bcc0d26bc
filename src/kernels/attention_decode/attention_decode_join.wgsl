// out = the pieces of a query row and head joined: each piece's sum times e^(its largest score - the largest of all), over the sum of
// weights counted the same way. One workgroup of 64 threads a row and head; 64 pieces at a time: a thread finds the factor of one, then
// has every 64th column. Pieces in order.
//   binding 0  read        partial_sums  (rows, H, pieces, D + 2) f32: the sum, the largest score, the sum of weights
//   binding 1  read_write  out           (rows, H*D) f32
//   binding 2  uniform     Params
// Grid: rows * H, folded on x and y.

struct Params {
  groups: u32,    // rows * H
  pieces: u32,
  head_dim: u32,  // D, at most 256
}

@group(0) @binding(0) var<storage, read> partial_sums: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

const THREADS: u32 = 64u;
const MASKED: f32 = -3e38;

var<workgroup> maxima: array<f32, THREADS>;
var<workgroup> factors: array<f32, THREADS>;
var<workgroup> weights: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = group.x + group.y * groups.x;
  if (index >= params.groups) {
    return;
  }
  let size = params.head_dim + 2u;
  let start = index * params.pieces * size;
  var largest = MASKED;
  for (var piece = thread; piece < params.pieces; piece += THREADS) {
    largest = max(largest, partial_sums[start + piece * size + params.head_dim]);
  }
  maxima[thread] = largest;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      maxima[thread] = max(maxima[thread], maxima[thread + stride]);
    }
    workgroupBarrier();
  }
  largest = maxima[0];

  var sums = vec4<f32>(0.0);  // component i: column thread + 64 i
  var total = 0.0;
  for (var first = 0u; first < params.pieces; first += THREADS) {
    workgroupBarrier();
    if (first + thread < params.pieces) {
      let at = start + (first + thread) * size + params.head_dim;
      let factor = exp(max(partial_sums[at] - largest, -100.0));
      factors[thread] = factor;
      weights[thread] = factor * partial_sums[at + 1u];
    }
    workgroupBarrier();
    for (var i = 0u; i < min(THREADS, params.pieces - first); i += 1u) {
      total += weights[i];
      for (var c = 0u; c < 4u; c += 1u) {
        if (thread + c * THREADS < params.head_dim) {
          sums[c] += factors[i] * partial_sums[start + (first + i) * size + thread + c * THREADS];
        }
      }
    }
  }
  for (var c = 0u; c < 4u; c += 1u) {
    if (thread + c * THREADS < params.head_dim) {
      out[index * params.head_dim + thread + c * THREADS] = sums[c] / total;
    }
  }
}
