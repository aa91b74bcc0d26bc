// Which elements of a slab belong to a tensor, by the table of segments. Joined behind lanes_1 or lanes_4, in front of a kernel that
// binds the table as `blocks`: for each 64 elements of the slab the weight decay (f32 bits) and how many of them belong to a tensor.

const SEGMENT_BLOCK: u32 = 64u;  // elements

// Of the Value at `index`: weight decay (f32 bits), and how many of its lanes, the first ones, belong to a tensor.
fn segment_of(index: u32, table_length: u32) -> vec2<u32> {
  let first = index * LANES;
  let block = first / SEGMENT_BLOCK;
  if (block >= table_length) {
    return vec2<u32>(0u);
  }
  let entry = blocks[block];
  let within = first % SEGMENT_BLOCK;
  return vec2<u32>(entry.x, min(max(entry.y, within) - within, LANES));
}
