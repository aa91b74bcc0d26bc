// Four values of a row of w, whose length is divisible by four, from a column that is; zero outside the matrix. Without
// a branch, so that several loads can be on their way: outside, the index is moved to the last vector.
fn load_w(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let last = rows * columns / 4u - 1u;
  let values = w[min((row * columns + column) / 4u, last)];
  return select(vec4<f32>(0.0), values, row < rows && column < columns);
}

