// out = x * (weight + offset) / sqrt(mean(x^2) + eps), one row a workgroup of 256 threads.
// Source: Zhang and Sennrich 2019, arXiv:1910.07467.
//   binding 0  read        x      (rows, C) f32
//   binding 1  read        weight (C) f32
//   binding 2  read_write  out    (rows, C) f32
//   binding 3  uniform     Params
// Grid: rows, folded on x and y when there are more than the adapter takes in one dimension.

struct Params {
  rows: u32,
  columns: u32,
  eps: f32,
  weight_offset: f32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const THREADS: u32 = 256u;
var<workgroup> partial_sums: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let row = group.x + group.y * groups.x;
  let in_range = row < params.rows;
  let start = row * params.columns;

  var sum = 0.0;
  if (in_range) {
    for (var c = thread; c < params.columns; c += THREADS) {
      let value = x[start + c];
      sum = fma(value, value, sum);
    }
  }
  partial_sums[thread] = sum;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      partial_sums[thread] += partial_sums[thread + stride];
    }
    workgroupBarrier();
  }
  let inverse = inverseSqrt(partial_sums[0] / f32(params.columns) + params.eps);
  if (in_range) {
    for (var c = thread; c < params.columns; c += THREADS) {
      out[start + c] = x[start + c] * inverse * (weight[c] + params.weight_offset);
    }
  }
}
