// out[d, s] = bias[d] + sum over k of x[d, s + k - 1] * weight[d, k], with zeros outside the row; one Value a thread. Joined behind lanes_1
// or lanes_4 and conv1d_join_1 or conv1d_join_4; Value is vec4<f32> when S is a multiple of four, else f32.
//   binding 0  read        x       (B, D, S) as Value
//   binding 1  read        weight  (D, 3) f32
//   binding 2  read        bias    (D) f32
//   binding 3  read_write  out     (B, D, S) as Value
//   binding 4  uniform     params  B * D, S in Values, D
// Grid: ceil(B * D * S in Values / 256), folded on x and y.

struct Params {
  rows: u32,      // B * D
  length: u32,    // S in Values
  channels: u32,  // D
}

@group(0) @binding(0) var<storage, read> x: array<Value>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<Value>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  let row = index / params.length;
  if (row >= params.rows) {
    return;
  }
  let i = index - row * params.length;
  let channel = row % params.channels;
  let value = x[index];
  var before = Value(0.0);
  if (i > 0u) {
    before = x[index - 1u];
  }
  var after = Value(0.0);
  if (i + 1u < params.length) {
    after = x[index + 1u];
  }
  out[index] = Value(bias[channel]) + join_before(before, value) * weight[channel * 3u] +
               value * weight[channel * 3u + 1u] + join_after(value, after) * weight[channel * 3u + 2u];
}
