// The loss of each row, as cross_entropy, and its gradient over the logits, as cross_entropy_backward. One row a workgroup of 256 threads.
// Joined behind lanes_1 or lanes_4, soft_cap and row_softmax, which has Params.
// A thread overwrites only values that it alone reads, so no barrier on storage is needed; the thread that has the target's logit writes
// the loss. The blocks of a long row are taken backwards, as in cross_entropy_backward.
//   binding 0  read_write  logits  (rows, V) as Value: logits in, gradient out
//   binding 1  read        targets (rows) i32; negative: loss and gradient of the row are zero
//   binding 2  read_write  losses  (rows) f32
//   binding 3  uniform     Params
// Grid: rows, folded on x and y.

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
  let wanted = u32(targets[row]);
  if (!target_counts(wanted)) {
    if (thread == 0u) {
      losses[row] = 0.0;
    }
    for (var i = thread; i < params.length; i += THREADS) {
      logits[start + i] = Value(0.0);
    }
    return;
  }
  var kept = Kept();
  let softmax = row_softmax(&kept, start, thread);
  if (thread == wanted / LANES % THREADS) {
    losses[row] = loss_of(softmax, soft_cap(logits[start + wanted / LANES]), wanted);
  }
  let gradient = gradient_of_row(softmax);
  let blocks = (params.length + BLOCK - 1u) / BLOCK;
  for (var left = blocks; left > 0u; left -= 1u) {
    let first = (left - 1u) * BLOCK;
    if (left < blocks) {
      load_block(&kept, start, first, thread);
    }
    for (var k = 0u; k < KEPT; k += 1u) {
      let i = first + k * THREADS + thread;
      if (i < params.length) {
        logits[start + i] = gradient_of(gradient, kept[k], i, wanted);
      }
    }
  }
}
