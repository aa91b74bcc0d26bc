// A row's values as bits, four in one load, for rows whose length is a multiple of four. Its pair is row_bits_1.
alias RowBits = vec4<u32>;
const LANES: u32 = 4u;

fn lane_of(bits: RowBits, lane: u32) -> u32 {
  return bits[lane];
}
