// Four values of a row of X = silu(GATE) * UP, whose length is divisible by four, from a column that is; zero outside
// the matrix. Without a branch: outside, the index is moved to the last vector.
fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let index = min((row * columns + column) / 4u, rows * columns / 4u - 1u);
  return select(vec4<f32>(0.0), hidden(gate[index], up[index]), row < rows && column < columns);
}

