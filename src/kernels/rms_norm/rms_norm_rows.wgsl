// The forward of rms_norm and rms_norm_residual. Joined behind lanes_1 or lanes_4 and row_tree with a kernel that declares the bindings
// weight, out and params, and how a Value of the row is read: first_read(index), later read_again(index).

alias Part = f32;  // sum of squares

fn combine(a: Part, b: Part) -> Part {
  return a + b;
}

struct Params {
  rows: u32,
  length: u32,       // of a row, in Values
  row_threads: u32,  // threads that share a row: see row_tree
  eps: f32,
  weight_offset: f32,
}

fn normed(value: Value, inverse: f32, i: u32) -> Value {
  return value * inverse * (weight[i] + Value(params.weight_offset));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let seat = thread & (params.row_threads - 1u);
  let row = (group.x + group.y * groups.x) * (THREADS / params.row_threads) + thread / params.row_threads;
  let start = row * params.length;
  let end = select(0u, params.length, row < params.rows);  // a row out of range has no Values, yet meets every barrier

  var kept: array<Value, KEEP>;
  var squares = Value(0.0);
  for (var k = 0u; k < KEEP; k += 1u) {
    let i = seat + k * params.row_threads;
    if (i < end) {
      kept[k] = first_read(start + i);
      squares = fma(kept[k], kept[k], squares);
    }
  }
  for (var i = seat + KEEP * params.row_threads; i < end; i += params.row_threads) {
    let value = first_read(start + i);
    squares = fma(value, value, squares);
  }
  let sum = combine_over_row(sum_of_lanes(squares), thread, params.row_threads);
  let inverse = inverseSqrt(sum / f32(params.length * LANES) + params.eps);
  for (var k = 0u; k < KEEP; k += 1u) {
    let i = seat + k * params.row_threads;
    if (i < end) {
      out[start + i] = normed(kept[k], inverse, i);
    }
  }
  for (var i = seat + KEEP * params.row_threads; i < end; i += params.row_threads) {
    out[start + i] = normed(read_again(start + i), inverse, i);
  }
}
