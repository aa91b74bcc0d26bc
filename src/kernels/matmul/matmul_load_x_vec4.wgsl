// Four values of a row of x, whose length is divisible by four, from a column that is; zero outside the matrix. Without
// a branch, so that several loads can be on their way: outside, the index is moved to the last vector.
fn load_x(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let last = rows * columns / 4u - 1u;
  let values = x[min((row * columns + column) / 4u, last)];
  return select(vec4<f32>(0.0), values, row < rows && column < columns);
}

