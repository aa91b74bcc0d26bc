// Four values of a row of w, stored as f16; zero outside the matrix, where the first vector is read instead. They are halves already.
fn load_w(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let index = (row * params[W_STRIDE] + column) / 4u;
  let inside = WHOLE_TILES || (row < rows && column < columns);
  let halves = w[select(0u, index, inside)];
  return select(vec4<f32>(0.0), vec4<f32>(unpack2x16float(halves.x), unpack2x16float(halves.y)), inside);
}
