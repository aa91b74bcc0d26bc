// gradient *= clip scale in place, one Value a thread: vec4<f32> when the count is a multiple of four, else f32 (the launcher puts the
// alias in front). Nothing is written when the flag for gradients that are not finite is set, or when the scale is 1.
//   binding 0  read_write  gradients (count) as Value
//   binding 1  read        stats     (4) f32 from finalize_grad_stats: norm, clip scale, flag, 0
//   binding 2  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
}

@group(0) @binding(0) var<storage, read_write> gradients: array<Value>;
@group(0) @binding(1) var<storage, read> stats: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count && stats[2] == 0.0 && stats[1] != 1.0) {
    gradients[index] *= stats[1];
  }
}
