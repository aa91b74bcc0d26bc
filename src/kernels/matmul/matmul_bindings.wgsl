// Bindings of matmul, matmul_t and matmul_at, and of their _acc forms, which are the same shaders with the bit
// ACCUMULATE set. The launcher joins: lines of the variant, this file, a load of X, a load of W, matmul_tile.wgsl or
// none, and the kernel's own file.
//   binding 0  read        X [M x K/4] vec4<f32>
//   binding 1  read        W [K x N/4] vec4<f32>; matmul_t: W [N x K/4]; matmul_at: B [M x N/4]
//   binding 2  read_write  Y [M x N] f32; matmul_at: Y [K x N]
//   binding 3  uniform     vec4<u32>: rows of Y, columns of Y, terms of each sum, first workgroup of this dispatch with
//                          the bit ACCUMULATE. So matmul and matmul_t (M, N, K, _), matmul_at (K, N, M, _), and _ is 0
//                          for a whole product.
// XValue and WValue are vec4<f32>; f32 where the rows of the operand are not whole vectors.

@group(0) @binding(0) var<storage, read> x: array<XValue>;
@group(0) @binding(1) var<storage, read> w: array<WValue>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> params: vec4<u32>;

const ACCUMULATE: u32 = 0x80000000u;  // add to Y instead of writing it

fn first_group() -> u32 {
  return params.w & (ACCUMULATE - 1u);
}

