// d_x = d_y + n * g - y * n^3 * mean(g * y) with n = 1 / sqrt(mean(y^2) + eps) and g = d_out * (weight + offset), and of each block of
// rows the sum of d_out * y * n, which pass "sum" adds up to d_weight. The computation is in rms_norm_backward_rows, before this text;
// Value is vec4<f32> when C is a multiple of four, else f32.
//   binding 0  read        d_out       (rows, C) as Value
//   binding 1  read        y           (rows, C) as Value
//   binding 2  read        weight      (C) as Value
//   binding 3  read        d_y         (rows, C) as Value; read when wanted & 4
//   binding 4  read_write  d_x         (rows, C) as Value; written when wanted & 1
//   binding 5  read_write  block_sums  (blocks, C) as Value; written when wanted & 2
//   binding 6  uniform     params      rows, C in Values, threads a row, steps, wanted, eps, weight offset
// Grid: blocks of 256 / threads a row * steps rows, folded on x and y. Threads a row: the power of two from 8 to 256 at or above
// C in Values / 4.

@group(0) @binding(0) var<storage, read> d_out: array<Value>;
@group(0) @binding(1) var<storage, read> y: array<Value>;
@group(0) @binding(2) var<storage, read> weight: array<Value>;
@group(0) @binding(3) var<storage, read> d_y: array<Value>;
@group(0) @binding(4) var<storage, read_write> d_x: array<Value>;
@group(0) @binding(5) var<storage, read_write> block_sums: array<Value>;
@group(0) @binding(6) var<uniform> params: Params;

fn row_value(index: u32) -> Value {
  return y[index];
}

fn passing_gradient(index: u32) -> Value {
  if ((params.wanted & ADDS_D_Y) != 0u) {
    return d_y[index];
  }
  return Value(0.0);
}
