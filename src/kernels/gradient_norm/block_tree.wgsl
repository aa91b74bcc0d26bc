// Sum of one value of each of 256 threads by a fixed tree in workgroup memory (1 KiB): 256, 128, .., 1. Joined in front of the
// kernels that use it. Call it in uniform control flow: it holds barriers.

const THREADS: u32 = 256u;
var<workgroup> tree: array<f32, THREADS>;

fn tree_sum(value: f32, thread: u32) -> f32 {
  tree[thread] = value;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      tree[thread] += tree[thread + stride];
    }
    workgroupBarrier();
  }
  return tree[0];
}
