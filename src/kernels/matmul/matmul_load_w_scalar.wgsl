// Four values of a row of w of any length, one by one; zero outside the matrix, where nothing is read.
fn load_w(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  var values = vec4<f32>(0.0);
  if (row < rows) {
    let start = row * columns + column;
    if (column < columns) {
      values.x = w[start];
    }
    if (column + 1u < columns) {
      values.y = w[start + 1u];
    }
    if (column + 2u < columns) {
      values.z = w[start + 2u];
    }
    if (column + 3u < columns) {
      values.w = w[start + 3u];
    }
  }
  return values;
}

