// block_sums[b] = sum of g^2 over block b of 4096 gradients, one block a workgroup of 256 threads. A block with a NaN or infinity, or
// whose sum overflows, gives infinity. Joined behind gradient_norm_block.
//   binding 0  read        gradients  (count) f32, as Bits: u32, or vec4<u32> when the count is a multiple of four
//   binding 1  read_write  block_sums (ceil(count / 4096)) f32, written as bits
//   binding 2  uniform     Params
// Grid: ceil(count / 4096), folded on x and y.

struct Params {
  count: u32,  // in Bits
}

@group(0) @binding(0) var<storage, read> gradients: array<Bits>;
@group(0) @binding(1) var<storage, read_write> block_sums: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let block = group.x + group.y * groups.x;
  if (block >= (params.count + BLOCK - 1u) / BLOCK) {
    return;
  }
  let sum = block_sum(block * BLOCK, min((block + 1u) * BLOCK, params.count), thread);
  if (thread == 0u) {
    block_sums[block] = sum;
  }
}
