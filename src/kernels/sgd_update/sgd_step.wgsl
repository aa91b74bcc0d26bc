// What both forms of sgd_update share: one Value a thread, four elements when the slab's length is a multiple of four, else one. The
// bindings stand in the heads of sgd_update and sgd_update_plain, which give the direction of the step.
// Joined behind lanes_1 or lanes_4 and segment_lanes.

struct Params {
  count: u32,  // in Values
  table_length: u32,
  lr: f32,
  momentum: f32,
  nesterov: u32,
}

@group(0) @binding(0) var<storage, read_write> weights: array<Value>;
@group(0) @binding(1) var<storage, read> gradients: array<Value>;
@group(0) @binding(2) var<storage, read> blocks: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> stats: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count || stats[2] != 0.0) {
    return;
  }
  let segment = segment_of(index, params.table_length);
  let lanes = segment.y;
  if (lanes == 0u) {
    return;
  }
  let before = weights[index];
  let gradient = gradients[index] * stats[1] + bitcast<f32>(segment.x) * before;
  let after = before - params.lr * direction(index, gradient, lanes);
  if (lanes == LANES) {
    weights[index] = after;
  } else {
    weights[index] = first_lanes(after, before, lanes);
  }
}
