// gradient_norm_squared by blocks that do not cross from one tensor to the next: block_sums[b] = sum of g^2 over block b of the table,
// one block a workgroup of 256 threads. What lies between a tensor's end and the next multiple of four is zero and may be added.
// Joined behind gradient_norm_block.
//   binding 0  read        gradients  (count) f32, as Bits: u32, or vec4<u32> when the count is a multiple of four
//   binding 1  read        blocks     (block_count) vec2<u32>: first element, a multiple of 64, and end of at most 4096
//   binding 2  read_write  block_sums (block_count) f32, written as bits
//   binding 3  uniform     Params
// Grid: block_count, folded on x and y.

struct Params {
  block_count: u32,
}

@group(0) @binding(0) var<storage, read> gradients: array<Bits>;
@group(0) @binding(1) var<storage, read> blocks: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> block_sums: array<u32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = group.x + group.y * groups.x;
  if (index >= params.block_count) {
    return;
  }
  let block = blocks[index];
  let sum = block_sum(block.x / LANES, (block.y + LANES - 1u) / LANES, thread);
  if (thread == 0u) {
    block_sums[index] = sum;
  }
}
