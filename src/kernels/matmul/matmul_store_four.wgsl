// Four values of a row of Y, `distance` columns apart.
fn store_four(start: u32, row: u32, column: u32, distance: u32, values: vec4<f32>) {
  store(start, row, column, values.x);
  store(start, row, column + distance, values.y);
  store(start, row, column + 2u * distance, values.z);
  store(start, row, column + 3u * distance, values.w);
}
