// Sum of block sums by one workgroup of 256 threads, four loads a thread in flight, then a tree. Joined behind block_tree, in front of a
// kernel that binds `block_sums` as u32.

const LARGEST: f32 = 3.4e38;

// Over block_sums[begin, end): not below LARGEST when one is NaN or infinite, which is found in the bits, or when the sum overflows.
fn total_of(begin: u32, end: u32, thread: u32) -> f32 {
  var own = 0.0;
  for (var first = begin + thread; first < end; first += 4u * THREADS) {
    for (var step = 0u; step < 4u; step += 1u) {
      let index = first + step * THREADS;
      if (index < end) {
        let bits = block_sums[index];
        own += select(bitcast<f32>(bits), LARGEST, (bits & 0x7f800000u) == 0x7f800000u);
      }
    }
  }
  return tree_sum(own, thread);
}
