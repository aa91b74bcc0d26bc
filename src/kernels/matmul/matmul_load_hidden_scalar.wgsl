// Four values of a row of X = silu(GATE) * UP of any length, one by one; zero outside the matrix, where nothing is read.
fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  var g = vec4<f32>(0.0);
  var u = vec4<f32>(0.0);
  if (row < rows) {
    let start = row * columns + column;
    if (column < columns) {
      g.x = gate[start];
      u.x = up[start];
    }
    if (column + 1u < columns) {
      g.y = gate[start + 1u];
      u.y = up[start + 1u];
    }
    if (column + 2u < columns) {
      g.z = gate[start + 2u];
      u.z = up[start + 2u];
    }
    if (column + 3u < columns) {
      g.w = gate[start + 3u];
      u.w = up[start + 3u];
    }
  }
  return hidden(g, u);
}

