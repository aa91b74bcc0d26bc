// Sum of g^2 over one block of gradients by one workgroup of 256 threads, sixteen values a thread, then a tree. Joined behind
// block_tree and lanes_u32_1 or lanes_u32_4, in front of a kernel that binds `gradients` as Bits.

const BLOCK: u32 = 4096u / LANES;  // in Bits
const LARGEST: f32 = 3.4e38;
const INFINITY_BITS: u32 = 0x7f800000u;

// The bits of the sum over gradients[begin, end), at most BLOCK of them: infinity when one is NaN or infinite or the sum overflows. The
// first is found in the bits, since a compiler may assume that floats are finite, and counts as the largest f32.
fn block_sum(begin: u32, end: u32, thread: u32) -> u32 {
  var own = 0.0;
  for (var offset = 0u; offset < BLOCK; offset += THREADS) {
    let index = begin + offset + thread;
    if (index < end) {
      let bits = gradients[index];
      own += select(sum_of_squares(bits), LARGEST, any_not_finite(bits));
    }
  }
  let total = tree_sum(own, thread);
  return select(INFINITY_BITS, bitcast<u32>(total), total < LARGEST);
}
