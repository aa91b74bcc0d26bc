// The last pass of muon_update: w = keep w - step x, with x the orthogonalised direction, keep = 1 - lr decay and step = lr times the
// factor of the shape. One Value a thread: vec4<f32> when the count is a multiple of four, else f32 (the launcher puts the alias in
// front). Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks".
//   binding 0  read_write  weights   (rows, columns) f32 as Value
//   binding 1  read        direction (rows, columns) f32 as Value
//   binding 2  read        stats     (4) f32 from finalize_grad_stats; flag set: nothing is written
//   binding 3  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
  keep: f32,
  step: f32,
}

@group(0) @binding(0) var<storage, read_write> weights: array<Value>;
@group(0) @binding(1) var<storage, read> direction: array<Value>;
@group(0) @binding(2) var<storage, read> stats: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count && stats[2] == 0.0) {
    weights[index] = params.keep * weights[index] - params.step * direction[index];
  }
}
