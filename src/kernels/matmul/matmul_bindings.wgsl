// Y[M,N] (+)= X[M,K] @ W[K,N]: the forward pass of a layer.
// XValue and WValue are the types below; in the variants for rows that are not whole vectors f32.
//   binding 0  read        X       [M x K/4] vec4<f32>
//   binding 1  read        W       [K x N/4] vec4<f32>
//   binding 2  read_write  Y       [M x N] f32
//   binding 3  uniform     params  vec4<u32>: M, N, K, _
// Grid: (ceil(N / 64), ceil(M / 64), 1).

@group(0) @binding(0) var<storage, read> x: array<XValue>;
@group(0) @binding(1) var<storage, read> w: array<WValue>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> params: vec4<u32>;
