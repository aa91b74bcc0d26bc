// out[block, c] = sum over the block's 32 rows, in order, of x: one level of the fixed tree over rows. Launched until one row is left.
// One Value a thread, vec4<f32> when C is a multiple of four, else f32 (the launcher puts the alias in front); neighbouring threads
// read neighbouring addresses.
//   binding 0  read        x   (rows, C) as Value
//   binding 1  read_write  out (blocks, C) as Value
//   binding 2  uniform     Params
// Grid: ceil(blocks * C in Values / 256), folded on x and y.

struct Params {
  rows: u32,
  columns: u32,  // C in Values
}

@group(0) @binding(0) var<storage, read> x: array<Value>;
@group(0) @binding(1) var<storage, read_write> out: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;

const BLOCK_ROWS: u32 = 32u;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  let block = index / params.columns;
  let column = index - block * params.columns;
  let begin = block * BLOCK_ROWS;
  if (begin >= params.rows) {
    return;
  }
  let end = min(begin + BLOCK_ROWS, params.rows);
  var sum = Value(0.0);
  for (var row = begin; row < end; row += 1u) {
    sum += x[row * params.columns + column];
  }
  out[index] = sum;
}
