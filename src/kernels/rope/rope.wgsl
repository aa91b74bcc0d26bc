// out[i] = x[i] cos - x[i + D/2] sin, out[i + D/2] = x[i + D/2] cos + x[i] sin, with cos and sin of the row's position from the
// table: WGSL promises little of its own cos far from zero. The gradient is the same with sign -1. One pair of Values a thread: vec4<f32> when
// D/2 is a multiple of four, else f32 (the launcher puts the alias in front). Source: Su et al. 2021, arXiv:2104.09864.
//   binding 0  read        x       (rows, H*D) as Value
//   binding 1  read        table   (positions, D) as Value: D/2 cosines, then D/2 sines
//   binding 2  read_write  out     (rows, H*D) as Value
//   binding 3  uniform     params  pairs, H, D/2 in Values, length, first position, sign
// Grid: ceil(pairs of Values / 256), folded on x and y.

struct Params {
  pairs: u32,           // rows * H * D/2, in Values
  heads: u32,
  half_dim: u32,        // D/2 in Values
  length: u32,          // row r has position first_position + r % length
  first_position: u32,
  sign: f32,
}

@group(0) @binding(0) var<storage, read> x: array<Value>;
@group(0) @binding(1) var<storage, read> table: array<Value>;
@group(0) @binding(2) var<storage, read_write> out: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let pair = (group.x + group.y * groups.x) * 256u + thread;
  if (pair >= params.pairs) {
    return;
  }
  let i = pair % params.half_dim;
  let head = pair / params.half_dim;  // of all rows
  let row = head / params.heads;
  let position = params.first_position + row % params.length;
  let angle = position * 2u * params.half_dim + i;
  let cosine = table[angle];
  let sine = params.sign * table[angle + params.half_dim];
  let start = head * 2u * params.half_dim + i;
  let first = x[start];
  let second = x[start + params.half_dim];
  out[start] = first * cosine - second * sine;
  out[start + params.half_dim] = second * cosine + first * sine;
}
