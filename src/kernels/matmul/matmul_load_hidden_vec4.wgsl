// Four values of a row of X = silu(GATE) * UP, whose length is divisible by four, from a column that is; zero outside the matrix,
// where nothing is read.
fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  if (row < rows && column < columns) {
    let index = (row * columns + column) / 4u;
    return hidden(gate[index], up[index]);
  }
  return vec4<f32>(0.0);
}

