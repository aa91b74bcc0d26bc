// Products on the matrix units, the left operand in panels: Y (+)= X W, X W^T or X^T B, factors times their scales rounded to f16, sums
// in f32. W or B lies as in the portable form.
//   binding 0  read        X          f16 in panels (matmul_panels_make.wgsl)
//   binding 1  read        W or B     f32, as vec4
//   binding 2  read_write  Y          f32
//   binding 3  read        x_inverse  [1] f32: what takes the scale of X back
//   binding 4  read        w_scales   [2] f32: the power of two by which W is multiplied (max_magnitude), and its inverse
//   binding 5  uniform     params     vec4<u32>: rows of Y, columns of Y, terms, 0
// Grid: (columns / 64, ceil(rows / 256), parts of the sums).

@group(0) @binding(0) var<storage, read> x: array<f16>;
@group(0) @binding(1) var<storage, read> w: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read> x_inverse: array<f32>;
@group(0) @binding(4) var<storage, read> w_scales: array<f32>;
@group(0) @binding(5) var<uniform> params: vec4<u32>;
