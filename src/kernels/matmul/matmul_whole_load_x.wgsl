// Four values of a row of x; zero outside the matrix, where the first vector is read instead.
fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let index = (row * params[X_STRIDE] + column) / 4u;
  if (WHOLE_TILES) {
    return x[index];
  }
  let inside = row < rows && column < columns;
  return select(vec4<f32>(0.0), x[select(0u, index, inside)], inside);
}
