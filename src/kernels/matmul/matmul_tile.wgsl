// What the tiled products share: the workgroup (x, y) of 16 x 16 threads computes the tile of 64 x 64 values of Y at row 64 y, column
// 64 x, each thread 4 x 4 of them. A step takes 16 terms of the sums; its parts of X and W lie in workgroup memory twice, so that one
// is filled while the other is used: 2 * (1024 + 1024) floats are the 16,384 bytes that every adapter has. Out of range nothing is
// read; a partial tile is filled with zeros and only its part of Y is written.

const TILE: u32 = 64u;
const STEP: u32 = 16u;
const BUFFER: u32 = 256u;  // vec4 of one buffer: 64 x 16 values

var<workgroup> x_tile: array<vec4<f32>, 512>;
var<workgroup> w_tile: array<vec4<f32>, 512>;
