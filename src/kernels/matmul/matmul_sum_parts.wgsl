// y[i] (+)= sum over parts, in order, of partial_sums[part, i]: the end of a product whose sums were cut into parts.
//   binding 0  read        partial_sums  (parts, count) f32
//   binding 1  read_write  y             (count) f32
//   binding 2  uniform     params        vec4<u32>: count, parts, 1 to add to y, _
// Grid: ceil(count / 256) workgroups, folded on x and y.

@group(0) @binding(0) var<storage, read> partial_sums: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.x) {
    return;
  }
  var sum = 0.0;
  if (params.z != 0u) {
    sum = y[index];
  }
  for (var part = 0u; part < params.y; part += 1u) {
    sum += partial_sums[part * params.x + index];
  }
  y[index] = sum;
}
