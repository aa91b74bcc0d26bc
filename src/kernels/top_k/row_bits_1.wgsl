// A row's values as bits, one by one, for rows whose length is no multiple of four. Its pair is row_bits_4.
alias RowBits = u32;
const LANES: u32 = 1u;

fn lane_of(bits: RowBits, lane: u32) -> u32 {
  return bits;
}
