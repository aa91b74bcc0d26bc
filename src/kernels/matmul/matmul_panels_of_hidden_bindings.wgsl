// silu(GATE) * UP as panels of halves.
//   binding 0  read        GATE         f32, as vec4
//   binding 1  read        UP           f32, as vec4
//   binding 2  read_write  panels       vec4<u32>: eight halves
//   binding 3  read_write  inverse      [1] f32: what takes the scale of the hidden matrix back
//   binding 4  read        gate_scales  [2] f32: a power of two (max_magnitude), and its inverse
//   binding 5  read        up_scales    [2] f32
//   binding 6  uniform     params       vec4<u32>: rows of Y, columns of Y, terms, 0
// Grid: a workgroup for 32 rows of 64 terms, or for 64 rows where the operand is turned; folded on x and y.

@group(0) @binding(0) var<storage, read> gate: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> up: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> panels: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> inverse: array<f32>;
@group(0) @binding(4) var<storage, read> gate_scales: array<f32>;
@group(0) @binding(5) var<storage, read> up_scales: array<f32>;
@group(0) @binding(6) var<uniform> params: vec4<u32>;
