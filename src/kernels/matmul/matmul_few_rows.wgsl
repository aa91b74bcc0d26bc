// Y[M,N] (+)= X[M,K] @ W[K,N] for M up to ROWS (1, 4 or 8), as in decoding: the time is that of reading W once. One workgroup has 32
// columns, 128 bytes of a row of W: 8 threads of four columns times SLICES slices of K (32; 16 for 8 rows, so that the partial sums fit
// 16,384 bytes), four rows of W at a time. Then a thread for every four values of Y adds its slices in order: one barrier in all.
// Its grid: ceil(N / 32) workgroups, folded on x and y.

const QUADS: u32 = 8u;

var<workgroup> partial_sums: array<vec4<f32>, ROWS * SLICES * QUADS>;  // [row][slice][quad]

@compute @workgroup_size(QUADS * SLICES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let first_column = (group.x + group.y * groups.x) * QUADS * 4u;
  let column = first_column + thread % QUADS * 4u;

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
    partial_sums[row * SLICES * QUADS + thread] = sums[row];
  }
  workgroupBarrier();
  let row = thread / QUADS;
  if (row < ROWS && row < params.x) {
    var total = vec4<f32>(0.0);
    for (var slice = 0u; slice < SLICES; slice += 1u) {
      total += partial_sums[(row * SLICES + slice) * QUADS + thread % QUADS];
    }
    store(0u, row, column, total.x);
    store(0u, row, column + 1u, total.y);
    store(0u, row, column + 2u, total.z);
    store(0u, row, column + 3u, total.w);
  }
}
