// Rows of d_out read four values at a time: D divisible by 4.

@group(0) @binding(3) var<storage, read> d_out: array<vec4<f32>>;

fn load_d_out(start: u32, d: u32) -> vec4<f32> { return d_out[(start + d) / 4u]; }
