// Four values of a row of x from a column divisible by four, as the length of the rows is; zero outside the matrix. Without a branch,
// so that several loads can be on their way: outside, the index is moved to the last vector.
alias XValue = vec4<f32>;

fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let last = ((rows - 1u) * params[X_STRIDE] + columns) / 4u - 1u;
  let values = x[min((row * params[X_STRIDE] + column) / 4u, last)];
  return select(vec4<f32>(0.0), values, row < rows && column < columns);
}
