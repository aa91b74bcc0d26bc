// Y[M,N] = (silu(GATE) * UP)[M,K] @ W[K,N], W stored as f16: the down projection.
// XValue and WValue are the types below; in the variants for rows that are not whole vectors f32, or u32 for halves.
//   binding 0  read        GATE    [M x K/4] vec4<f32>
//   binding 1  read        UP      [M x K/4] vec4<f32>
//   binding 2  read        W       [K x N/4] vec2<u32>, four halves each
//   binding 3  read_write  Y       [M x N] f32
//   binding 4  uniform     params  vec4<u32>: M, N, K, _
// Grid: (ceil(N / 64), ceil(M / 64), 1).

@group(0) @binding(0) var<storage, read> gate: array<XValue>;
@group(0) @binding(1) var<storage, read> up: array<XValue>;
@group(0) @binding(2) var<storage, read> w: array<WValue>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> params: vec4<u32>;
