// losses[row] = -log softmax(logits[row])[target], one row a workgroup of 256 threads. Joined behind lanes_1 or lanes_4 and row_softmax.
//   binding 0  read        logits  (rows, V) as Value
//   binding 1  read        targets (rows) i32; negative: the row counts nothing
//   binding 2  read_write  losses  (rows) f32
//   binding 3  uniform     Params
// Grid: rows, folded on x and y.

struct Params {
  rows: u32,
  length: u32,  // V in Values
}

@group(0) @binding(0) var<storage, read> logits: array<Value>;
@group(0) @binding(1) var<storage, read> targets: array<i32>;
@group(0) @binding(2) var<storage, read_write> losses: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let row = group.x + group.y * groups.x;
  if (row >= params.rows) {
    return;
  }
  let start = row * params.length;
  let softmax = row_softmax(start, params.length, thread);
  if (thread == 0u) {
    let wanted = u32(targets[row]);  // a negative one becomes larger than any V
    var loss = 0.0;
    if (wanted / LANES < params.length) {
      let value = logits[start + wanted / LANES];
      // The difference first: it is exact where both are large and near.
      loss = log(softmax.y) + (softmax.x - sum_of_lanes(value * unit_lane(wanted % LANES)));
    }
    losses[row] = loss;
  }
}
