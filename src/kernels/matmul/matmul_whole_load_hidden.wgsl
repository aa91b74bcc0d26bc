// Four values of a row of X = silu(GATE) * UP; zero outside the matrix, where the first vector is read instead.
fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let index = (row * params[X_STRIDE] + column) / 4u;
  if (WHOLE_TILES) {
    return hidden(gate[index], up[index]);
  }
  let inside = row < rows && column < columns;
  let place = select(0u, index, inside);
  return select(vec4<f32>(0.0), hidden(gate[place], up[place]), inside);
}
