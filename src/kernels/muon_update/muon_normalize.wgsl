// A pass of muon_update: x /= its Frobenius norm + 1e-7, so that no singular value is above 1. One Value a thread: vec4<f32> when the
// count is a multiple of four, else f32 (the launcher puts the alias in front).
//   binding 0  read_write  x    (rows, columns) f32 as Value
//   binding 1  read        norm (4) f32 from finalize_grad_stats of x: the norm comes first
//   binding 2  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
}

@group(0) @binding(0) var<storage, read_write> x: array<Value>;
@group(0) @binding(1) var<storage, read> norm: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    x[index] = x[index] / (norm[0] + 1e-7);
  }
}
