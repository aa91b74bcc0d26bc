// Four values of a row of w; zero outside the matrix, where the first vector is read instead.
fn load_w(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let index = (row * params[W_STRIDE] + column) / 4u;
  if (WHOLE_TILES) {
    return w[index];
  }
  let inside = row < rows && column < columns;
  return select(vec4<f32>(0.0), w[select(0u, index, inside)], inside);
}
