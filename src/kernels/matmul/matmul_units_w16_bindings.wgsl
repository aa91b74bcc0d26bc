// Products on the matrix units: Y (+)= X W or X W^T, X times its scale rounded to f16, W stored as f16, sums in f32. The operands lie as
// in the portable form; the scale of X follows.
//   binding 0  read        X         f32, as vec4
//   binding 1  read        W         f16, four in a vec2<u32>
//   binding 2  read_write  Y         f32
//   binding 3  read        x_scales  [2] f32: the power of two by which X is multiplied (max_magnitude), and its inverse
//   binding 4  uniform     params    vec4<u32>: rows of Y, columns of Y, terms, distance of rows that lie apart
// Grid: (ceil(columns / 128), ceil(rows / 128), parts of the sums).

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> w: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read> x_scales: array<f32>;
@group(0) @binding(4) var<uniform> params: vec4<u32>;
