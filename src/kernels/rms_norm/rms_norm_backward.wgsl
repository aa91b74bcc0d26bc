// d_x = n * g - x * n^3 * mean(g * x) with n = 1 / sqrt(mean(x^2) + eps), g = d_out * (weight + offset); n of each row is kept for
// rms_norm_backward_weight. One row a workgroup of 256 threads; both sums in one pass over the row.
//   binding 0  read        d_out   (rows, C) f32
//   binding 1  read        x       (rows, C) f32
//   binding 2  read        weight  (C) f32
//   binding 3  read_write  d_x     (rows, C) f32
//   binding 4  read_write  inverse (rows) f32
//   binding 5  uniform     Params
// Grid: rows, folded on x and y.

struct Params {
  rows: u32,
  columns: u32,
  eps: f32,
  weight_offset: f32,
}

@group(0) @binding(0) var<storage, read> d_out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_x: array<f32>;
@group(0) @binding(4) var<storage, read_write> inverse_rms: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;

const THREADS: u32 = 256u;
var<workgroup> partial_sums: array<vec2<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let row = group.x + group.y * groups.x;
  let in_range = row < params.rows;
  let start = row * params.columns;

  var sums = vec2<f32>(0.0);  // of x^2, of g * x
  if (in_range) {
    for (var c = thread; c < params.columns; c += THREADS) {
      let value = x[start + c];
      let gradient = d_out[start + c] * (weight[c] + params.weight_offset);
      sums += vec2<f32>(value * value, gradient * value);
    }
  }
  partial_sums[thread] = sums;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      partial_sums[thread] += partial_sums[thread + stride];
    }
    workgroupBarrier();
  }
  let columns = f32(params.columns);
  let inverse = inverseSqrt(partial_sums[0].x / columns + params.eps);
  let correction = partial_sums[0].y / columns * inverse * inverse * inverse;
  if (in_range) {
    if (thread == 0u) {
      inverse_rms[row] = inverse;
    }
    for (var c = thread; c < params.columns; c += THREADS) {
      let gradient = d_out[start + c] * (weight[c] + params.weight_offset);
      d_x[start + c] = inverse * gradient - x[start + c] * correction;
    }
  }
}
