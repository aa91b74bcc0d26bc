// The first pass of muon_update: m = momentum m + (1 - momentum) g, x = momentum m + (1 - momentum) g once more (Nesterov), with g the
// gradient times the clip scale. One Value a thread: vec4<f32> when the count is a multiple of four, else f32 (the launcher puts the
// alias in front).
//   binding 0  read        gradients (rows, columns) f32 as Value
//   binding 1  read        stats     (4) f32 from finalize_grad_stats; flag set: m is left alone and x is zero
//   binding 2  read_write  m         (rows, columns) f32 as Value
//   binding 3  read_write  x         (rows, columns) f32 as Value, written
//   binding 4  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
  momentum: f32,
  one_minus_momentum: f32,
}

@group(0) @binding(0) var<storage, read> gradients: array<Value>;
@group(0) @binding(1) var<storage, read> stats: array<f32>;
@group(0) @binding(2) var<storage, read_write> m: array<Value>;
@group(0) @binding(3) var<storage, read_write> x: array<Value>;
@group(0) @binding(4) var<uniform> params: Params;

const SMALLEST_NORMAL: f32 = 1.17549435e-38;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count) {
    return;
  }
  if (stats[2] != 0.0) {
    x[index] = Value(0.0);
    return;
  }
  let fresh = params.one_minus_momentum * (gradients[index] * stats[1]);
  let m_next = params.momentum * m[index] + fresh;
  // Below the normal range a device may flush or keep: always 0.
  let kept = select(m_next, Value(0.0), abs(m_next) < Value(SMALLEST_NORMAL));
  m[index] = kept;
  x[index] = params.momentum * kept + fresh;
}
