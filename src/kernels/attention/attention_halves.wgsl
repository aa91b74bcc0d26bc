// halves = x as f16, each value times the operand's scale (max_magnitude), one head's rows behind the other and 64 values in a row, so that
// the matrix units read whole blocks: (B, heads, P, 64), P = T rounded up to a multiple of 64. Rows from T on and columns from D on are
// zero. inverses[operand] = what takes the scale back. Eight values a thread.
//   binding 0  read        x         (B*T, heads*D) f32 as vec4
//   binding 1  read        scales    [2] f32: a power of two, and its inverse
//   binding 2  read_write  halves    vec4<u32>: eight halves
//   binding 3  read_write  inverses  [4] f32
//   binding 4  uniform     Params
// Grid: ceil(B * heads * P / 32), folded on x and y.

struct Params {
  rows: u32,      // B * heads * P
  length: u32,    // T
  padded: u32,    // P
  heads: u32,     // of this operand
  head_dim: u32,  // D
  start: u32,     // of this operand in halves, in vectors
  operand: u32,   // 0: q, 1: k, 2: v, 3: d_out
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> scales: array<f32>;
@group(0) @binding(2) var<storage, read_write> halves: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> inverses: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

// Four values from column d of a row that begins at `start`, as two words.
fn two_words(start: u32, d: u32, inside: bool) -> vec2<u32> {
  let there = inside && d < params.head_dim;
  let values = select(vec4<f32>(0.0), x[select(0u, start + d, there) / 4u] * scales[0], there);
  return vec2<u32>(pack2x16float(values.xy), pack2x16float(values.zw));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = group.x + group.y * groups.x;
  if (index == 0u && thread == 0u) {
    inverses[params.operand] = scales[1];
  }
  let row = index * 32u + thread / 8u;
  if (row >= params.rows) {
    return;
  }
  let t = row % params.padded;
  let head = row / params.padded % params.heads;
  let b = row / (params.padded * params.heads);
  let start = ((b * params.length + t) * params.heads + head) * params.head_dim;
  let d = thread % 8u * 8u;
  let inside = t < params.length;
  halves[params.start + row * 8u + thread % 8u] = vec4<u32>(two_words(start, d, inside), two_words(start, d + 4u, inside));
}
