// Four values of a row of w, whose length is divisible by four, from a column that is; zero outside the matrix, where nothing is read.
fn load_w(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  if (row < rows && column < columns) {
    return w[(row * columns + column) / 4u];
  }
  return vec4<f32>(0.0);
}

