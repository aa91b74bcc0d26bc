// Y[M,N] (+)= X[M,K] @ W[K,N] for M up to ROWS (1, 2, 4 or 8), as in decoding: the time is that of reading W once.
// Bindings: matmul_bindings.wgsl, matmul_swiglu_bindings.wgsl. One workgroup has 32 columns, 128 bytes of a row of W: 8 threads of
// four columns times 32 slices of K, four rows of W at a time; then the slices are added by a tree.
// Grid: ceil(N / 32) workgroups, from params.w on, folded on x and y.

const QUADS: u32 = 8u;
const SLICES: u32 = 32u;

var<workgroup> partial_sums: array<vec4<f32>, 256>;

fn store(row: u32, column: u32, value: f32) {
  if (row < params.x && column < params.y) {
    let index = row * params.y + column;
    if (ACCUMULATE) {
      y[index] += value;
    } else {
      y[index] = value;
    }
  }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let block = params.w + group.x + group.y * groups.x;
  let column = (block * QUADS + thread % QUADS) * 4u;

  var sums: array<vec4<f32>, ROWS>;
  for (var k = thread / QUADS * 4u; k < params.z; k += SLICES * 4u) {
    let w0 = load_w(k, column, params.z, params.y);
    let w1 = load_w(k + 1u, column, params.z, params.y);
    let w2 = load_w(k + 2u, column, params.z, params.y);
    let w3 = load_w(k + 3u, column, params.z, params.y);
    for (var row = 0u; row < ROWS; row += 1u) {
      let values = load_x(row, k, params.x, params.z);
      let two = fma(vec4<f32>(values.y), w1, fma(vec4<f32>(values.x), w0, sums[row]));
      sums[row] = fma(vec4<f32>(values.w), w3, fma(vec4<f32>(values.z), w2, two));
    }
  }
  for (var row = 0u; row < ROWS; row += 1u) {
    partial_sums[thread] = sums[row];
    workgroupBarrier();
    for (var stride = 128u; stride >= QUADS; stride /= 2u) {
      if (thread < stride) {
        partial_sums[thread] += partial_sums[thread + stride];
      }
      workgroupBarrier();
    }
    if (thread < QUADS) {
      let total = partial_sums[thread];
      store(row, column, total.x);
      store(row, column + 1u, total.y);
      store(row, column + 2u, total.z);
      store(row, column + 3u, total.w);
    }
    workgroupBarrier();
  }
}
