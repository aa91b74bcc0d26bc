// out[c] (+)= sum over blocks of block_sums[block, c]: the second half of a fixed tree over rows. A column has 64 threads, each of which
// adds up every 64th block in order; their sums are joined four at a time. Joined behind lanes_1 or lanes_4; Value is vec4<f32> when C is a
// multiple of four, else f32.
//   binding 0  read        block_sums  (blocks, C) as Value
//   binding 1  read_write  out         (C) as Value
//   binding 2  uniform     params      blocks, C in Values, 1 to add to out
// Grid: ceil(C in Values / 4), folded on x and y.

struct Params {
  blocks: u32,
  length: u32,  // C in Values
  accumulate: u32,
}

@group(0) @binding(0) var<storage, read> block_sums: array<Value>;
@group(0) @binding(1) var<storage, read_write> out: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;

const COLUMNS: u32 = 4u;  // a workgroup's: 64 bytes in one go as vec4
const SEATS: u32 = 64u;   // threads of a column
var<workgroup> sums: array<Value, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let column = (group.x + group.y * groups.x) * COLUMNS + thread % COLUMNS;
  let seat = thread / COLUMNS;
  var sum = Value(0.0);
  if (column < params.length) {
    for (var block = seat; block < params.blocks; block += SEATS) {
      sum += block_sums[block * params.length + column];
    }
  }
  sums[thread] = sum;
  workgroupBarrier();
  for (var step = SEATS / 4u; step > 0u; step /= 4u) {
    if (seat < step) {
      let far = step * COLUMNS;
      sums[thread] = (sums[thread] + sums[thread + far]) + (sums[thread + 2u * far] + sums[thread + 3u * far]);
    }
    workgroupBarrier();
  }
  if (seat == 0u && column < params.length) {
    if (params.accumulate != 0u) {
      out[column] += sums[thread];
    } else {
      out[column] = sums[thread];
    }
  }
}
