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

// |silu(gate) * up| is at most |gate| |up|, whose largest magnitudes times their scales lie below 2^15 each: the product of the scales
// times 2^-15 keeps it below 2^15. Neither counts for more than 2^63, and the product for no less than 2^-126, so that it is an f32 with
// an inverse.
fn x_scale() -> f32 {
  return max(min(gate_scales[0], 0x1p63) * 0x1p-15 * min(up_scales[0], 0x1p63), 0x1p-126);
}
