// Y[M,N] (+)= X[M,K] @ W[N,K]^T for M up to ROWS (1, 4 or 8), as for the head in decoding: the time is that of reading W once. One
// workgroup has 8 rows of W, 32 threads a row that read neighbouring vectors of it; then a thread for every value of Y adds the 32 sums
// of its row. It begins at a lane of its own, so that neighbours read different banks; the order is the same on every run. One barrier
// in all.
// Its grid: ceil(N / 8) workgroups, folded on x and y.

const COLUMNS: u32 = 8u;
const LANES: u32 = 32u;

var<workgroup> partial_sums: array<f32, ROWS * COLUMNS * LANES>;  // [row][column][lane]

@compute @workgroup_size(COLUMNS * LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let first_column = (group.x + group.y * groups.x) * COLUMNS;

  var sums: array<f32, ROWS>;
  for (var k = thread % LANES * 4u; k < params.z; k += LANES * 4u) {
    let weights = load_w(first_column + thread / LANES, k, params.y, params.z);
    for (var row = 0u; row < ROWS; row += 1u) {
      sums[row] += dot(load_x(row, k, params.x, params.z), weights);
    }
  }
  for (var row = 0u; row < ROWS; row += 1u) {
    partial_sums[row * COLUMNS * LANES + thread] = sums[row];
  }
  workgroupBarrier();
  let row = thread / COLUMNS;
  let column = first_column + thread % COLUMNS;
  if (row < ROWS) {
    var total = 0.0;
    for (var i = 0u; i < LANES; i += 1u) {
      total += partial_sums[thread * LANES + (thread + i) % LANES];
    }
    store(0u, row, column, total);
  }
}
