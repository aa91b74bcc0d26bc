// tensor_sums[t] = sum of the block sums of tensor t, one tensor a workgroup of 256 threads: infinity when one of them is not finite or
// the whole overflows. Joined behind block_sums_total.
//   binding 0  read        block_sums  (block_count) f32 as bits
//   binding 1  read        tensors     (tensor_count) vec2<u32>: first block and number of blocks
//   binding 2  read_write  tensor_sums (tensor_count) f32, written as bits
//   binding 3  uniform     Params
// Grid: tensor_count, folded on x and y.

struct Params {
  tensor_count: u32,
}

@group(0) @binding(0) var<storage, read> block_sums: array<u32>;
@group(0) @binding(1) var<storage, read> tensors: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> tensor_sums: array<u32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = group.x + group.y * groups.x;
  if (index >= params.tensor_count) {
    return;
  }
  let tensor = tensors[index];
  let total = total_of(tensor.x, tensor.x + tensor.y, thread);
  if (thread == 0u) {
    tensor_sums[index] = select(0x7f800000u, bitcast<u32>(total), total < LARGEST);
  }
}
