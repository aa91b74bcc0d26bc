// Y[K,N] (+)= (silu(GATE) * UP)[M,K]^T @ B[M,N]: the gradient of the down
// projection's weight. B is w below.
// XValue and WValue are the types below; in the variants for rows that are not whole vectors f32.
//   binding 0  read        GATE    [M x K/4] vec4<f32>
//   binding 1  read        UP      [M x K/4] vec4<f32>
//   binding 2  read        B       [M x N/4] vec4<f32>
//   binding 3  read_write  Y       [K x N] f32
//   binding 4  uniform     params  vec4<u32>: K, N, M, _
// Grid: (ceil(N / 64), ceil(K / 64), 1).

@group(0) @binding(0) var<storage, read> gate: array<XValue>;
@group(0) @binding(1) var<storage, read> up: array<XValue>;
@group(0) @binding(2) var<storage, read> w: array<WValue>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> params: vec4<u32>;
