// Philox4x32-10, bit for bit as base/random.h has it. Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".

// The upper 32 bits of a * b, from products of halves.
fn multiply_high(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);  // at most 2^32 - 2^16: no carry is lost
  let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}

fn philox4x32(start: vec4<u32>, start_key: vec2<u32>) -> vec4<u32> {
  var counter = start;
  var key = start_key;
  for (var round = 0u; round < 10u; round += 1u) {
    counter = vec4<u32>(multiply_high(0xCD9E8D57u, counter.z) ^ counter.y ^ key.x, 0xCD9E8D57u * counter.z,
                        multiply_high(0xD2511F53u, counter.x) ^ counter.w ^ key.y, 0xD2511F53u * counter.x);
    key += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}
