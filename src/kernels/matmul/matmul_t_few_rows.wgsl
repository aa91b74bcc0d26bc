// Y[M,N] (+)= X[M,K] @ W[N,K]^T for M up to ROWS (1, 2, 4 or 8), as for the head in decoding: the time is that of reading W once.
// Bindings: matmul_bindings.wgsl. One workgroup has 8 rows of W, 32 threads a row that read neighbouring vectors of it; then the
// threads of a row are added by a tree.
// Grid: ceil(N / 8) workgroups, from params.w on, folded on x and y.

const COLUMNS: u32 = 8u;
const LANES: u32 = 32u;

var<workgroup> partial_sums: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let block = params.w + group.x + group.y * groups.x;
  let column = block * COLUMNS + thread / LANES;
  let lane = thread % LANES;

  var sums: array<f32, ROWS>;
  for (var k = lane * 4u; k < params.z; k += LANES * 4u) {
    let weights = load_w(column, k, params.y, params.z);
    for (var row = 0u; row < ROWS; row += 1u) {
      sums[row] += dot(load_x(row, k, params.x, params.z), weights);
    }
  }
  for (var row = 0u; row < ROWS; row += 1u) {
    partial_sums[thread] = sums[row];
    workgroupBarrier();
    for (var stride = LANES / 2u; stride > 0u; stride /= 2u) {
      if (lane < stride) {
        partial_sums[thread] += partial_sums[thread + stride];
      }
      workgroupBarrier();
    }
    if (lane == 0u && row < params.x && column < params.y) {
      let index = row * params.y + column;
      if (ACCUMULATE) {
        y[index] += partial_sums[thread];
      } else {
        y[index] = partial_sums[thread];
      }
    }
    workgroupBarrier();
  }
}
