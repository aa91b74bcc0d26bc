// d_x = out * (d_out - sum of d_out * out over the row). Joined behind lanes_1 or lanes_4 and row_tree; Value is vec4<f32> when C is a
// multiple of four, else f32.
//   binding 0  read        d_out   (rows, C) as Value
//   binding 1  read        out     (rows, C) as Value
//   binding 2  read_write  d_x     (rows, C) as Value
//   binding 3  uniform     params  rows, C in Values, threads a row
// Grid: ceil(rows / (256 / threads a row)), folded on x and y. Threads a row: the power of two from 8 to 256 at or above
// C in Values / 4.

struct Params {
  rows: u32,
  length: u32,       // of a row, in Values
  row_threads: u32,  // threads that share a row: see row_tree
}

@group(0) @binding(0) var<storage, read> d_out: array<Value>;
@group(0) @binding(1) var<storage, read> out: array<Value>;
@group(0) @binding(2) var<storage, read_write> d_x: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

alias Part = f32;  // sum of d_out * out

fn combine(a: Part, b: Part) -> Part {
  return a + b;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let seat = thread & (params.row_threads - 1u);
  let row = (group.x + group.y * groups.x) * (THREADS / params.row_threads) + thread / params.row_threads;
  let start = row * params.length;
  let end = select(0u, params.length, row < params.rows);  // a row out of range has no Values, yet meets every barrier

  var gradients: array<Value, KEEP>;
  var values: array<Value, KEEP>;
  var products = Value(0.0);
  for (var k = 0u; k < KEEP; k += 1u) {
    let i = seat + k * params.row_threads;
    if (i < end) {
      gradients[k] = d_out[start + i];
      values[k] = out[start + i];
      products = fma(gradients[k], values[k], products);
    }
  }
  for (var i = seat + KEEP * params.row_threads; i < end; i += params.row_threads) {
    products = fma(d_out[start + i], out[start + i], products);
  }
  let dot_product = combine_over_row(sum_of_lanes(products), thread, params.row_threads);
  for (var k = 0u; k < KEEP; k += 1u) {
    let i = seat + k * params.row_threads;
    if (i < end) {
      d_x[start + i] = values[k] * (gradients[k] - Value(dot_product));
    }
  }
  for (var i = seat + KEEP * params.row_threads; i < end; i += params.row_threads) {
    d_x[start + i] = out[start + i] * (d_out[start + i] - Value(dot_product));
  }
}
