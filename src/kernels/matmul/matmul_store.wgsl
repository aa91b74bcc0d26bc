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
