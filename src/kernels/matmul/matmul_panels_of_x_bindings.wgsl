// X as panels of halves.
//   binding 0  read        X         f32, as vec4
//   binding 1  read_write  panels    vec4<u32>: eight halves
//   binding 2  read_write  inverse   [1] f32: what takes the scale of X back
//   binding 3  read        x_scales  [2] f32: the power of two by which X is multiplied (max_magnitude), and its inverse
//   binding 4  uniform     params    vec4<u32>: rows of Y, columns of Y, terms, 0
// Grid: a workgroup for 32 rows of 64 terms, or for 64 rows where the operand is turned; folded on x and y.

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> panels: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> inverse: array<f32>;
@group(0) @binding(3) var<storage, read> x_scales: array<f32>;
@group(0) @binding(4) var<uniform> params: vec4<u32>;
