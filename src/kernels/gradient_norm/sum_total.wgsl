// out (+)= sum of the block sums, in one workgroup of 256 threads: four loads a thread in flight, then a tree. Joined behind block_tree.
//   binding 0  read        block_sums (blocks) f32
//   binding 1  read_write  out        (1) f32
//   binding 2  uniform     Params
// Grid: 1.

struct Params {
  blocks: u32,
  accumulate: u32,
}

@group(0) @binding(0) var<storage, read> block_sums: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  var own = 0.0;
  for (var first = thread; first < params.blocks; first += 4u * THREADS) {
    for (var step = 0u; step < 4u; step += 1u) {
      let index = first + step * THREADS;
      if (index < params.blocks) {
        own += block_sums[index];
      }
    }
  }
  let total = tree_sum(own, thread);
  if (thread == 0u) {
    if (params.accumulate != 0u) {
      out[0] += total;
    } else {
      out[0] = total;
    }
  }
}
