// Four values of a row of X = silu(GATE) * UP from a column divisible by four, as the length of the rows is; zero outside the matrix.
// Without a branch: outside, the index is moved to the last vector.
alias XValue = vec4<f32>;

fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let last = ((rows - 1u) * params[X_STRIDE] + columns) / 4u - 1u;
  let index = min((row * params[X_STRIDE] + column) / 4u, last);
  return select(vec4<f32>(0.0), hidden(gate[index], up[index]), row < rows && column < columns);
}
