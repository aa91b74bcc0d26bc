// Four values of a row of X = silu(GATE) * UP, both stored as f16, of any length, one by one; zero outside the matrix. Without a branch:
// outside, the index is moved to the last value.
alias XValue = u32;

fn gate_half(index: u32) -> f32 {
  let pair = unpack2x16float(gate[index / 2u]);
  return select(pair.x, pair.y, (index & 1u) == 1u);
}

fn up_half(index: u32) -> f32 {
  let pair = unpack2x16float(up[index / 2u]);
  return select(pair.x, pair.y, (index & 1u) == 1u);
}

fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let start = row * params[X_STRIDE] + column;
  let last = (rows - 1u) * params[X_STRIDE] + columns - 1u;
  let index = min(vec4<u32>(start, start + 1u, start + 2u, start + 3u), vec4<u32>(last));
  let g = vec4<f32>(gate_half(index.x), gate_half(index.y), gate_half(index.z), gate_half(index.w));
  let u = vec4<f32>(up_half(index.x), up_half(index.y), up_half(index.z), up_half(index.w));
  let inside = vec4<u32>(column, column + 1u, column + 2u, column + 3u) < vec4<u32>(select(0u, columns, row < rows));
  return select(vec4<f32>(0.0), hidden(g, u), inside);
}
