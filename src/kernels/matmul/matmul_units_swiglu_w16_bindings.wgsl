// Products on the matrix units: Y (+)= H W with H = silu(GATE) * UP made in f32, times a scale rounded to f16, W stored as f16, sums in
// f32. The operands lie as in the portable form; the scales of GATE and UP follow.
//   binding 0  read        GATE         f32, as vec4
//   binding 1  read        UP           f32, as vec4
//   binding 2  read        W            f16, four in a vec2<u32>
//   binding 3  read_write  Y            f32
//   binding 4  read        gate_scales  [2] f32: a power of two (max_magnitude), and its inverse
//   binding 5  read        up_scales    [2] f32
//   binding 6  uniform     params       vec4<u32>: rows of Y, columns of Y, terms, distance of rows that lie apart
// Grid: (ceil(columns / 128), ceil(rows / 128), parts of the sums).

@group(0) @binding(0) var<storage, read> gate: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> up: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<storage, read> gate_scales: array<f32>;
@group(0) @binding(5) var<storage, read> up_scales: array<f32>;
@group(0) @binding(6) var<uniform> params: vec4<u32>;
