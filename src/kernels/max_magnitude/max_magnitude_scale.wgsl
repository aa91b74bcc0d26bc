// scale = the power of two that puts the largest of the maxima into [2^14, 2^15), and its inverse, both made of bits: WGSL lets a
// division be inexact. One workgroup of 256 threads.
//   binding 0  read        maxima  [count] u32: bits of magnitudes
//   binding 1  read_write  scale   [2] f32 as bits: the power of two, and its inverse
//   binding 2  uniform     params  vec4<u32>: count, _, _, _
// Grid: (1, 1, 1).

@group(0) @binding(0) var<storage, read> maxima: array<u32>;
@group(0) @binding(1) var<storage, read_write> scale: array<u32>;
@group(0) @binding(2) var<uniform> params: vec4<u32>;

const THREADS: u32 = 256u;
const BIAS: u32 = 127u;  // of an f32's exponent
const TARGET: u32 = 14u;
var<workgroup> tree: array<u32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  var largest = 0u;
  // Four reads on their way at a time; behind the end the last is read again.
  for (var i = thread; i < params.x; i += 4u * THREADS) {
    let first = max(maxima[i], maxima[min(i + THREADS, params.x - 1u)]);
    let second = max(maxima[min(i + 2u * THREADS, params.x - 1u)], maxima[min(i + 3u * THREADS, params.x - 1u)]);
    largest = max(largest, max(first, second));
  }
  tree[thread] = largest;
  workgroupBarrier();
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    if (thread < half) {
      tree[thread] = max(tree[thread], tree[thread + half]);
    }
    workgroupBarrier();
  }
  if (thread == 0u) {
    let exponent = tree[0] >> 23u;
    // Zero and subnormal, infinity and NaN: 1. Else up to 2^126, whose inverse is still normal.
    let usual = exponent != 0u && exponent != 255u;
    let power = select(BIAS, min(2u * BIAS + TARGET - exponent, 253u), usual);
    scale[0] = power << 23u;
    scale[1] = (2u * BIAS - power) << 23u;
  }
}
