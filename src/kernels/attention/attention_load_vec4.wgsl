// Rows of q, k and v read four values at a time: D divisible by 4. start: the row of a head, in elements; d < D, a multiple of 4.

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> v: array<vec4<f32>>;

fn load_q(start: u32, d: u32) -> vec4<f32> { return q[(start + d) / 4u]; }
fn load_k(start: u32, d: u32) -> vec4<f32> { return k[(start + d) / 4u]; }
fn load_v(start: u32, d: u32) -> vec4<f32> { return v[(start + d) / 4u]; }
