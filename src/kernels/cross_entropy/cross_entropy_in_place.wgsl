// losses[row] = -log softmax(logits[row])[target], and the logits become (softmax - onehot(target)) * scale. One row a workgroup of
// 256 threads. Joined behind lanes_1 or lanes_4 and row_softmax.
//   binding 0  read_write  logits  (rows, V) as Value: logits in, gradient out
//   binding 1  read        targets (rows) i32; negative: loss and gradient of the row are zero
//   binding 2  read_write  losses  (rows) f32
//   binding 3  uniform     Params
// Grid: rows, folded on x and y. A thread overwrites only values that it alone reads, in both passes, so no barrier on storage is
// needed; the thread that has the target's logit writes the loss.

struct Params {
  rows: u32,
  length: u32,  // V in Values
  scale: f32,
}

@group(0) @binding(0) var<storage, read_write> logits: array<Value>;
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
  let wanted = u32(targets[row]);  // a negative one becomes larger than any V
  let counts = wanted / LANES < params.length;
  if (!counts && thread == 0u) {
    losses[row] = 0.0;
  }
  let factor = params.scale / softmax.y;
  for (var i = thread; i < params.length; i += THREADS) {
    var gradient = Value(0.0);
    if (counts) {
      let value = logits[start + i];
      gradient = exp(value - Value(softmax.x)) * factor;
      if (i == wanted / LANES) {
        let unit = unit_lane(wanted % LANES);
        gradient -= params.scale * unit;
        // The difference first: it is exact where both are large and near.
        losses[row] = log(softmax.y) + (softmax.x - sum_of_lanes(value * unit));
      }
    }
    logits[start + i] = gradient;
  }
}
