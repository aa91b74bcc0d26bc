// out[row] = table[ids[row]], one Value a thread: vec4<f32> when C is a multiple of four, else f32 (the launcher puts the alias in
// front).
// The host has refused ids of V or more; one that comes here all the same gives zeros, since nothing may be read outside the table.
//   binding 0  read        table   (V, C) as Value
//   binding 1  read        ids     (rows) u32
//   binding 2  read_write  out     (rows, C) as Value
//   binding 3  uniform     params  rows, C in Values, V
// Grid: ceil(rows * C in Values / 256), folded on x and y.

struct Params {
  rows: u32,
  columns: u32,  // in Values
  vocabulary: u32,
}

@group(0) @binding(0) var<storage, read> table: array<Value>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  let row = index / params.columns;
  if (row < params.rows) {
    let column = index - row * params.columns;
    let id = ids[row];
    var value = Value(0.0);
    if (id < params.vocabulary) {
      value = table[id * params.columns + column];
    }
    out[index] = value;
  }
}
