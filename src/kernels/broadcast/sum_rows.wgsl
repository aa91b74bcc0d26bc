// out[block, c] = sum over the block's 2,048 rows of x by a fixed tree. A workgroup has 8 Values of a block's rows: each of its 32 lanes
// sums every 32nd row in order, then the lanes are joined in halves. Launched until one row is left. Value is vec4<f32> when C is a
// multiple of four, else f32 (the launcher puts the alias in front).
//   binding 0  read        x   (rows, C) as Value
//   binding 1  read_write  out (blocks, C) as Value
//   binding 2  uniform     Params
// Grid: blocks * ceil(C in Values / 8), folded on x and y.

struct Params {
  rows: u32,
  columns: u32,  // C in Values
}

@group(0) @binding(0) var<storage, read> x: array<Value>;
@group(0) @binding(1) var<storage, read_write> out: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;

const THREADS: u32 = 256u;
const COLUMNS: u32 = 8u;
const LANES: u32 = THREADS / COLUMNS;
const BLOCK_ROWS: u32 = 2048u;
var<workgroup> lane_sums: array<Value, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = group.x + group.y * groups.x;
  let column_groups = (params.columns + COLUMNS - 1u) / COLUMNS;
  let block = index / column_groups;
  let column = (index - block * column_groups) * COLUMNS + thread % COLUMNS;
  let begin = block * BLOCK_ROWS;
  let end = min(begin + BLOCK_ROWS, params.rows);

  var sum = Value(0.0);
  if (column < params.columns) {
    for (var row = begin + thread / COLUMNS; row < end; row += LANES) {
      sum += x[row * params.columns + column];
    }
  }
  lane_sums[thread] = sum;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride >= COLUMNS; stride /= 2u) {
    if (thread < stride) {
      lane_sums[thread] += lane_sums[thread + stride];
    }
    workgroupBarrier();
  }
  if (thread < COLUMNS && column < params.columns && begin < params.rows) {
    out[block * params.columns + column] = lane_sums[thread];
  }
}
