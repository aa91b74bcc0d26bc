// out = x * (weight + offset) / sqrt(mean(x^2) + eps). The computation is in rms_norm_rows, before this text; Value is vec4<f32> when C is a
// multiple of four, else f32. Source: Zhang and Sennrich 2019, arXiv:1910.07467.
//   binding 0  read        x       (rows, C) as Value
//   binding 1  read        weight  (C) as Value
//   binding 2  read_write  out     (rows, C) as Value
//   binding 3  uniform     params  rows, C in Values, threads a row, eps, weight offset
// Grid: ceil(rows / (256 / threads a row)), folded on x and y. Threads a row: the power of two from 8 to 256 at or above
// C in Values / 4.

@group(0) @binding(0) var<storage, read> x: array<Value>;
@group(0) @binding(1) var<storage, read> weight: array<Value>;
@group(0) @binding(2) var<storage, read_write> out: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

fn first_read(index: u32) -> Value {
  return x[index];
}

fn read_again(index: u32) -> Value {
  return x[index];
}
