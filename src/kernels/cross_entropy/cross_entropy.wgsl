// losses[row] = logsumexp(x) - (1 - e) * x[target] - e * mean(x) + z * logsumexp(x)^2 with x the row's logits under the soft cap: without
// smoothing e and z-loss z that is -log softmax(x)[target]. One row a workgroup of 256 threads. Joined behind lanes_1 or lanes_4, soft_cap
// and row_softmax, which has Params.
//   binding 0  read        logits  (rows, V) as Value
//   binding 1  read        targets (rows) i32; negative: the row counts nothing
//   binding 2  read_write  losses  (rows) f32
//   binding 3  uniform     Params
// Grid: rows, folded on x and y.

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
  let wanted = u32(targets[row]);
  if (!target_counts(wanted)) {
    if (thread == 0u) {
      losses[row] = 0.0;
    }
    return;
  }
  let start = row * params.length;
  var kept = Kept();
  let softmax = row_softmax(&kept, start, thread);
  if (thread == 0u) {
    losses[row] = loss_of(softmax, soft_cap(logits[start + wanted / LANES]), wanted);
  }
}
