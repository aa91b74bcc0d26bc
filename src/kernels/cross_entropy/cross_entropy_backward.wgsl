// d_logits = ((1 + 2 z logsumexp(x)) * softmax(x) - (1 - e) * onehot(target) - e / V) * scale * (1 - (x / cap)^2), x the row's logits under
// the soft cap, e the label smoothing, z the z-loss: without them (softmax - onehot) * scale. One row a workgroup of 256 threads. Joined
// behind lanes_1 or lanes_4, soft_cap and row_softmax, which has Params.
// The blocks of a long row are taken backwards: the last one is still in registers, the others are the likelier in a cache.
//   binding 0  read        logits   (rows, V) as Value
//   binding 1  read        targets  (rows) i32; negative: the row's gradient is zero
//   binding 2  read_write  d_logits (rows, V) as Value
//   binding 3  uniform     Params
// Grid: rows, folded on x and y.

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
  let wanted = u32(targets[row]);
  if (!target_counts(wanted)) {
    for (var i = thread; i < params.length; i += THREADS) {
      d_logits[start + i] = Value(0.0);
    }
    return;
  }
  var kept = Kept();
  let gradient = gradient_of_row(row_softmax(&kept, start, thread));
  let blocks = (params.length + BLOCK - 1u) / BLOCK;
  for (var left = blocks; left > 0u; left -= 1u) {
    let first = (left - 1u) * BLOCK;
    if (left < blocks) {
      load_block(&kept, start, first, thread);
    }
    for (var k = 0u; k < KEPT; k += 1u) {
      let i = first + k * THREADS + thread;
      if (i < params.length) {
        d_logits[start + i] = gradient_of(gradient, kept[k], i, wanted);
      }
    }
  }
}
