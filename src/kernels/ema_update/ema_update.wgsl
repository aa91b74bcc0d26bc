// ema = decay ema + (1 - decay) w in place, one Value a thread: vec4<f32> when the count is a multiple of four, else f32 (the launcher
// puts the alias in front).
//   binding 0  read_write  ema     (count) as Value
//   binding 1  read        weights (count) as Value
//   binding 2  read        stats   (4) f32 from finalize_grad_stats; not looked at, and so any buffer, unless Params says so
//   binding 3  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
  decay: f32,
  one_minus_decay: f32,
  heed_flag: u32,  // 1: nothing is written when stats flags gradients that are not finite
}

@group(0) @binding(0) var<storage, read_write> ema: array<Value>;
@group(0) @binding(1) var<storage, read> weights: array<Value>;
@group(0) @binding(2) var<storage, read> stats: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count) {
    return;
  }
  if (params.heed_flag != 0u) {
    if (stats[2] != 0.0) {
      return;
    }
  }
  ema[index] = params.decay * ema[index] + params.one_minus_decay * weights[index];
}
