// One value at a time, where their number is no multiple of four.
alias Value = u32;

fn largest_of(x: u32) -> u32 {
  return x;
}
