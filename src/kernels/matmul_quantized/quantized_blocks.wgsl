// Bindings of matmul_q8 and matmul_q4 on ggml's blocks. The launcher joins exact_half, quantized_unit, this file, the unit of the format
// (unit_q8_0, ...; it says what a WValue is) and the kernel's own file: tiles, or few rows.
//   binding 0  read        X [M x K/4] vec4<f32>
//   binding 1  read        W (N rows of blocks as ggml lays them out, filled up to whole u32) as WValue
//   binding 2  read_write  Y [M x N] f32
//   binding 3  uniform     Params

struct Params {
  rows: u32,      // M
  columns: u32,   // N, the rows of W in this dispatch
  terms: u32,     // K
  y_stride: u32,  // columns of the whole Y
  y_column: u32,  // of the first row of W in this dispatch
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> w: array<WValue>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;
