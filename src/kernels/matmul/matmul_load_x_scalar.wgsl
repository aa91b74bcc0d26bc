// Four values of a row of x of any length, one by one; zero outside the matrix. Without a branch: outside, the index is moved to the
// last value.
fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let last = rows * columns - 1u;
  let start = row * columns + column;
  let values = vec4<f32>(x[min(start, last)], x[min(start + 1u, last)], x[min(start + 2u, last)], x[min(start + 3u, last)]);
  let inside = vec4<u32>(column, column + 1u, column + 2u, column + 3u) < vec4<u32>(select(0u, columns, row < rows));
  return select(vec4<f32>(0.0), values, inside);
}

