// Gradients of a + b, and with sign -1 of a - b: d_a = d_out; sums[block, c] = sign * sum over the block's 32 rows, in order, of d_out.
// sum_rows.wgsl adds the blocks up; where there is one block, sums is d_b itself. Operands of one shape are one row, and then a thread
// has one Value of each: vec4<f32> when C is a multiple of four, else f32 (the launcher puts the alias in front).
//   binding 0  read        d_out (rows, C) as Value
//   binding 1  read_write  d_a   (rows, C) as Value; any small buffer when write_a is 0
//   binding 2  read_write  sums  (blocks, C) as Value; any small buffer when write_sums is 0
//   binding 3  uniform     Params
// Grid: ceil(blocks * C in Values / 256), folded on x and y.

struct Params {
  rows: u32,
  columns: u32,     // C in Values
  sign: f32,        // 1 or -1
  write_a: u32,     // 0: nobody needs d_a
  write_sums: u32,  // 0: nobody needs d_b
}

@group(0) @binding(0) var<storage, read> d_out: array<Value>;
@group(0) @binding(1) var<storage, read_write> d_a: array<Value>;
@group(0) @binding(2) var<storage, read_write> sums: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

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
    let place = row * params.columns + column;
    let gradient = d_out[place];
    if (params.write_a != 0u) {
      d_a[place] = gradient;
    }
    sum += gradient;
  }
  if (params.write_sums != 0u) {
    sums[index] = params.sign * sum;
  }
}
