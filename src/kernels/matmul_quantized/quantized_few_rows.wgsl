// Y[M,N] = X[M,K] @ W[N,K]^T with quantised W and few rows of X, as in decoding: the time is that of reading W once. A workgroup has ROWS
// rows of X (1 or 4); for more, workgroups with the same part of W are neighbours, so that it comes from memory once. LANES threads (32
// for one row, 16 for four) share two rows of W, one unit of 32 values of each a step. The X of a step lies in workgroup memory, with a
// gap behind every eight vectors, so that lanes, which read eight vectors apart, meet different banks; the two rows of W share what is
// read of it. Then the lanes' sums are added by a fixed tree.
// Grid: ceil(N / (512 / LANES)) * ceil(M / ROWS) workgroups, folded on x and y.

const THREADS: u32 = 256u;
const VECTORS: u32 = LANES * 8u;       // of a row of X in a step
const X_STRIDE: u32 = LANES * 9u;      // with the gaps
const COLUMNS: u32 = 2u * THREADS / LANES;

var<workgroup> x_part: array<vec4<f32>, ROWS * X_STRIDE>;
var<workgroup> partial_sums: array<vec2<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index_of_group = group.x + group.y * groups.x;
  let row_groups = (params.rows + ROWS - 1u) / ROWS;
  let first_row = index_of_group % row_groups * ROWS;
  let first_column = index_of_group / row_groups * COLUMNS;
  if (first_column >= params.columns) {
    return;
  }
  let lane = thread % LANES;
  let column = first_column + thread / LANES * 2u;
  let column_a = min(column, params.columns - 1u);
  let column_b = min(column + 1u, params.columns - 1u);
  let units = params.terms / 32u;
  let x_row = params.terms / 4u;

  var sums: array<vec2<f32>, ROWS>;  // of the two rows of W
  for (var first = 0u; first < units; first += LANES) {
    // A lane beyond the row's end reads its last unit, and multiplies it by zeros.
    let index = min(first + lane, units - 1u);
    let a = load_unit(column_a, index);
    let b = load_unit(column_b, index);
    workgroupBarrier();  // the step before is done with x_part
    for (var i = thread; i < ROWS * VECTORS; i += THREADS) {
      let row = first_row + i / VECTORS;
      let vector = i % VECTORS;
      let inside = row < params.rows && first * 8u + vector < x_row;
      let value = x[min(row, params.rows - 1u) * x_row + min(first * 8u + vector, x_row - 1u)];
      x_part[i / VECTORS * X_STRIDE + vector + vector / 8u] = select(vec4<f32>(0.0), value, inside);
    }
    workgroupBarrier();
    for (var piece = 0u; piece < 8u; piece += 1u) {
      let vector = place(lane, piece);
      let w_a = four(a, piece);
      let w_b = four(b, piece);
      for (var row = 0u; row < ROWS; row += 1u) {
        let values = x_part[row * X_STRIDE + vector + vector / 8u];
        sums[row] += vec2<f32>(dot(values, w_a), dot(values, w_b));
      }
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
    if (lane < 2u && first_row + row < params.rows && column + lane < params.columns) {
      y[(first_row + row) * params.y_stride + params.y_column + column + lane] = partial_sums[thread - lane][lane];
    }
    workgroupBarrier();
  }
}
