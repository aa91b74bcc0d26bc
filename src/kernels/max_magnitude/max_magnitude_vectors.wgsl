// Four values at a time.
alias Value = vec4<u32>;

fn largest_of(x: vec4<u32>) -> u32 {
  return max(max(x.x, x.y), max(x.z, x.w));
}
