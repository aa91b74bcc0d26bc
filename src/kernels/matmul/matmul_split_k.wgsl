// The sums are cut into parts, one for each z of the grid: a part has its share of the steps and writes a Y of its own, one behind the
// other; matmul_sum_parts.wgsl adds them.
struct Share {
  begin: u32,  // terms of the sums
  end: u32,
  start: u32,  // of this part's Y in the buffer, in values
}

fn share_of(part: u32, parts: u32) -> Share {
  let steps = (params.z + STEP - 1u) / STEP;
  let terms = (steps + parts - 1u) / parts * STEP;
  let begin = part * terms;
  return Share(begin, min(begin + terms, params.z), part * params.x * params.y);
}
