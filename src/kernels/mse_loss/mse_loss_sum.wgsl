// loss = scale * sum of block_sums, by one workgroup of 256 threads. Joined behind row_tree.
//   binding 0  read        block_sums  (blocks) f32
//   binding 1  read_write  loss        (1) f32
//   binding 2  uniform     params      blocks, scale
// Grid: 1.

struct Params {
  blocks: u32,
  scale: f32,
}

@group(0) @binding(0) var<storage, read> block_sums: array<f32>;
@group(0) @binding(1) var<storage, read_write> loss: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

alias Part = f32;

fn combine(a: Part, b: Part) -> Part {
  return a + b;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  var sum = 0.0;
  for (var i = thread; i < params.blocks; i += THREADS) {
    sum += block_sums[i];
  }
  let total = combine_over_row(sum, thread, THREADS);
  if (thread == 0u) {
    loss[0] = total * params.scale;
  }
}
