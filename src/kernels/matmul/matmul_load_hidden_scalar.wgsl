// Four values of a row of X = silu(GATE) * UP of any length, one by one; zero outside the matrix. Without a branch: outside, the index
// is moved to the last value.
alias XValue = f32;

fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let start = row * params[X_STRIDE] + column;
  let last = (rows - 1u) * params[X_STRIDE] + columns - 1u;
  let index = min(vec4<u32>(start, start + 1u, start + 2u, start + 3u), vec4<u32>(last));
  let g = vec4<f32>(gate[index.x], gate[index.y], gate[index.z], gate[index.w]);
  let u = vec4<f32>(up[index.x], up[index.y], up[index.z], up[index.w]);
  let inside = vec4<u32>(column, column + 1u, column + 2u, column + 3u) < vec4<u32>(select(0u, columns, row < rows));
  return select(vec4<f32>(0.0), hidden(g, u), inside);
}
