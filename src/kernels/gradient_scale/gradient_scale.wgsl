// gradient *= factor in place, one Value a thread: vec4<f32> when the count is a multiple of four, else f32 (the launcher puts the
// alias in front).
//   binding 0  read_write  gradients (count) as Value
//   binding 1  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
  factor: f32,
}

@group(0) @binding(0) var<storage, read_write> gradients: array<Value>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    gradients[index] *= params.factor;
  }
}
