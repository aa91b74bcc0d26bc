// d_logits = (softmax(logits) - onehot(target)) * scale, one row a workgroup of 256 threads. Joined behind lanes_1 or lanes_4 and
// row_softmax.
//   binding 0  read        logits   (rows, V) as Value
//   binding 1  read        targets  (rows) i32; negative: the row's gradient is zero
//   binding 2  read_write  d_logits (rows, V) as Value
//   binding 3  uniform     Params
// Grid: rows, folded on x and y.

struct Params {
  rows: u32,
  length: u32,  // V in Values
  scale: f32,
}

@group(0) @binding(0) var<storage, read> logits: array<Value>;
@group(0) @binding(1) var<storage, read> targets: array<i32>;
@group(0) @binding(2) var<storage, read_write> d_logits: array<Value>;
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
  let factor = params.scale / softmax.y;
  for (var i = thread; i < params.length; i += THREADS) {
    var gradient = Value(0.0);
    if (counts) {
      gradient = exp(logits[start + i] - Value(softmax.x)) * factor;
      if (i == wanted / LANES) {
        gradient -= params.scale * unit_lane(wanted % LANES);
      }
    }
    d_logits[start + i] = gradient;
  }
}
