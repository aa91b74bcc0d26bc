// Bindings of matmul_q8 and matmul_q4 on MLX's affine groups. The launcher joins exact_half, affine_scale, quantized_unit, this file, the
// unit of the format (unit_affine_8, unit_affine_4) and the kernel's own file: tiles, or few rows.
//   binding 0  read        X      [M x K/4] vec4<f32>
//   binding 1  read        W      [N x K * bits / 128] vec4<u32>, lowest bits first
//   binding 2  read        scales [N x K / group] f16, bf16 or f32, read as u32
//   binding 3  read        biases [N x K / group], like scales
//   binding 4  read_write  Y      [M x N] f32
//   binding 5  uniform     Params

struct Params {
  rows: u32,         // M
  columns: u32,      // N, the rows of W in this dispatch
  terms: u32,        // K
  y_stride: u32,     // columns of the whole Y
  y_column: u32,     // of the first row of W in this dispatch
  group_shift: u32,  // log2 of a group's length in units of 32: 0, 1 or 2
  scale_kind: u32,   // SCALE_F16, ...
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> w: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;
@group(0) @binding(3) var<storage, read> biases: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;

// Scale and bias of group `number`, counted over all rows.
fn group_scale(number: u32) -> vec2<f32> {
  let word = scale_word(number, params.scale_kind);
  return vec2<f32>(scale_value(scales[word], number, params.scale_kind),
                   scale_value(biases[word], number, params.scale_kind));
}
