// block_sums[b] = sum of block b of 4096 values, one block a workgroup of 256 threads: each adds sixteen, then a tree. Joined behind
// block_tree and lanes_1 or lanes_4.
//   binding 0  read        values     (count) f32 as Value: vec4<f32> when the count is a multiple of four, else f32
//   binding 1  read_write  block_sums (ceil(count / 4096)) f32
//   binding 2  uniform     Params
// Grid: ceil(count / 4096), folded on x and y.

struct Params {
  count: u32,  // in Values
}

@group(0) @binding(0) var<storage, read> values: array<Value>;
@group(0) @binding(1) var<storage, read_write> block_sums: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

const BLOCK: u32 = 4096u / LANES;  // in Values

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let block = group.x + group.y * groups.x;
  if (block >= (params.count + BLOCK - 1u) / BLOCK) {
    return;
  }
  var own = Value(0.0);
  for (var offset = 0u; offset < BLOCK; offset += THREADS) {
    let index = block * BLOCK + offset + thread;
    if (index < params.count) {
      own += values[index];
    }
  }
  let total = tree_sum(sum_of_lanes(own), thread);
  if (thread == 0u) {
    block_sums[block] = total;
  }
}
