// d_table[v] (+)= sum, in order of position, of the rows of d_out whose id is v. One Value of one table row a thread: vec4<f32> when C
// is a multiple of four, else f32 (the launcher puts the alias in front). Each sum has one writer, so no atomics and the same bits
// every time.
//   binding 0  read        d_out    (rows, C) as Value
//   binding 1  read        order    (V + 1 + rows) u32: starts of each id's positions, then the positions
//   binding 2  read_write  d_table  (V, C) as Value
//   binding 3  uniform     params   rows, C in Values, V, 1 to add to d_table
// Grid: ceil(V * C in Values / 256), folded on x and y.

struct Params {
  rows: u32,
  columns: u32,  // in Values
  vocabulary: u32,
  accumulate: u32,
}

@group(0) @binding(0) var<storage, read> d_out: array<Value>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read_write> d_table: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  let id = index / params.columns;
  if (id >= params.vocabulary) {
    return;
  }
  let column = index - id * params.columns;
  let begin = order[id];
  let end = min(order[id + 1u], params.rows);
  if (params.accumulate != 0u && begin >= end) {
    return;
  }
  var sum = Value(0.0);
  if (params.accumulate != 0u) {
    sum = d_table[index];
  }
  for (var i = begin; i < end; i += 1u) {
    let row = min(order[params.vocabulary + 1u + i], params.rows - 1u);
    sum += d_out[row * params.columns + column];
  }
  d_table[index] = sum;
}
