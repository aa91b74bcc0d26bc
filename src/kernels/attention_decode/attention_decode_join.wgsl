// out = the pieces of a query row and head joined: each piece's sum times e^(its largest score - the largest of all), over the sum of
// weights counted the same way. One workgroup of 64 threads a row and head, a column a thread; pieces in order.
//   binding 0  read        partial_sums  (rows, H, pieces, D + 2) f32
//   binding 1  read_write  out      (rows, H*D) f32
//   binding 2  uniform     Params
// Grid: rows * H, folded on x and y.

struct Params {
  groups: u32,    // rows * H
  pieces: u32,
  head_dim: u32,  // D
}

@group(0) @binding(0) var<storage, read> partial_sums: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = group.x + group.y * groups.x;
  if (index >= params.groups) {
    return;
  }
  let size = params.head_dim + 2u;
  let first = index * params.pieces * size;
  var largest = partial_sums[first + params.head_dim];
  for (var piece = 1u; piece < params.pieces; piece += 1u) {
    largest = max(largest, partial_sums[first + piece * size + params.head_dim]);
  }
  for (var d = thread; d < params.head_dim; d += 64u) {
    var sum = 0.0;
    var weights = 0.0;
    for (var piece = 0u; piece < params.pieces; piece += 1u) {
      let at = first + piece * size;
      let factor = exp(max(partial_sums[at + params.head_dim] - largest, -100.0));
      sum += factor * partial_sums[at + d];
      weights += factor * partial_sums[at + params.head_dim + 1u];
    }
    out[index * params.head_dim + d] = sum / weights;
  }
}
