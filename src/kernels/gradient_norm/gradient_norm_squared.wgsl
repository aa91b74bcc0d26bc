// block_sums[b] = sum of g^2 over block b of 4096 gradients, one block a workgroup of 256 threads: each adds sixteen squares, then a
// tree. A block with a NaN or infinity, or whose sum overflows, gives infinity: found in the bits, since a compiler may assume that
// floats are finite. Joined behind block_tree and lanes_u32_1 or lanes_u32_4.
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

const BLOCK: u32 = 4096u / LANES;  // in Bits
const LARGEST: f32 = 3.4e38;
const INFINITY_BITS: u32 = 0x7f800000u;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let block = group.x + group.y * groups.x;
  if (block >= (params.count + BLOCK - 1u) / BLOCK) {
    return;
  }
  let end = min((block + 1u) * BLOCK, params.count);
  var own = 0.0;
  var broken = 0.0;
  for (var i = block * BLOCK + thread; i < end; i += THREADS) {
    let bits = gradients[i];
    if (any_not_finite(bits)) {
      broken = 1.0;
    } else {
      own += sum_of_squares(bits);
    }
  }
  let total = tree_sum(own, thread);
  workgroupBarrier();
  let any_broken = tree_sum(broken, thread);
  if (thread == 0u) {
    block_sums[block] = select(bitcast<u32>(total), INFINITY_BITS, any_broken > 0.0 || !(total <= LARGEST));
  }
}
