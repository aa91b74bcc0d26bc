// Bindings of matmul_swiglu_a and matmul_at_swiglu_a (and _acc): X is silu(GATE) * UP, made while it is loaded.
//   binding 0  read        GATE [M x K/4] vec4<f32>
//   binding 1  read        UP [M x K/4] vec4<f32>
//   binding 2  read        W [K x N/4] vec4<f32>; matmul_at_swiglu_a: B [M x N/4]
//   binding 3  read_write  Y [M x N] f32; matmul_at_swiglu_a: Y [K x N]
//   binding 4  uniform     vec4<u32>: rows of Y, columns of Y, terms of each sum, first workgroup of this dispatch with
//                          the bit ACCUMULATE, as in matmul_bindings.wgsl
// XValue and WValue are vec4<f32>; f32 where the rows of the operand are not whole vectors.

@group(0) @binding(0) var<storage, read> gate: array<XValue>;
@group(0) @binding(1) var<storage, read> up: array<XValue>;
@group(0) @binding(2) var<storage, read> w: array<WValue>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> params: vec4<u32>;

const ACCUMULATE: u32 = 0x80000000u;  // add to Y instead of writing it

fn first_group() -> u32 {
  return params.w & (ACCUMULATE - 1u);
}

/// exp stays finite: beyond 80 the sigmoid is 0 or 1 in f32.
fn hidden(g: vec4<f32>, u: vec4<f32>) -> vec4<f32> {
  return g / (1.0 + exp(clamp(-g, vec4<f32>(-80.0), vec4<f32>(80.0)))) * u;
}

