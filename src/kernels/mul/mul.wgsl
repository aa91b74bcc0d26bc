// out = a * b, one Value a thread: vec4<f32> when the row is a multiple of four, else f32 (the launcher puts the alias in front). b of
// (C) meets each row of a (rows, C); operands of one shape are one row.
//   binding 0  read        a   (rows, C) as Value
//   binding 1  read        b   (C) as Value
//   binding 2  read_write  out (rows, C) as Value
//   binding 3  uniform     Params
// Grid: ceil(rows * C in Values / 256), folded on x and y.

struct Params {
  count: u32,    // rows * C in Values
  columns: u32,  // C in Values
}

@group(0) @binding(0) var<storage, read> a: array<Value>;
@group(0) @binding(1) var<storage, read> b: array<Value>;
@group(0) @binding(2) var<storage, read_write> out: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    var column = index;
    if (params.columns < params.count) {
      column = index % params.columns;
    }
    out[index] = a[index] * b[column];
  }
}
