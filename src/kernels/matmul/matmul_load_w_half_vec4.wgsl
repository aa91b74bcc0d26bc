// Four values of a row of w, stored as f16, from a column divisible by four, as the length of the rows is; zero outside the matrix.
// Without a branch: outside, the index is moved to the last vector.
alias WValue = vec2<u32>;

fn load_w(row: u32, column: u32, rows: u32, columns: u32) -> vec4<f32> {
  let last = ((rows - 1u) * params[W_STRIDE] + columns) / 4u - 1u;
  let halves = w[min((row * params[W_STRIDE] + column) / 4u, last)];
  let values = vec4<f32>(unpack2x16float(halves.x), unpack2x16float(halves.y));
  return select(vec4<f32>(0.0), values, row < rows && column < columns);
}
