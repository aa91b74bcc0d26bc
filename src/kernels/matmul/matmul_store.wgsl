// Writes one value of Y, or adds to it; nothing outside the matrix. start: where this Y begins in the buffer, in values.
fn store(start: u32, row: u32, column: u32, value: f32) {
  if (row < params.x && column < params.y) {
    let index = start + row * params[Y_STRIDE] + column;
    if (ACCUMULATE) {
      y[index] += value;
    } else {
      y[index] = value;
    }
  }
}

/// Four values of a row of Y, `distance` columns apart.
fn store_four(start: u32, row: u32, column: u32, distance: u32, values: vec4<f32>) {
  store(start, row, column, values.x);
  store(start, row, column + distance, values.y);
  store(start, row, column + 2u * distance, values.z);
  store(start, row, column + 3u * distance, values.w);
}
