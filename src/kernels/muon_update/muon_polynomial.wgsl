// A pass of muon_update: p = a I + b A + c A^2 in the place of A^2, with A the (n, n) Gram matrix, so that one product p x is the whole
// Newton-Schulz step a x + b A x + c A^2 x. One Value a thread, four elements when n^2 is a multiple of four, else one (joined behind
// lanes_1 or lanes_4).
//   binding 0  read        gram   (n, n) f32 as Value
//   binding 1  read_write  square (n, n) f32 as Value: A^2, then p
//   binding 2  uniform     Params
// Grid: ceil(n^2 in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
  n: u32,
}

@group(0) @binding(0) var<storage, read> gram: array<Value>;
@group(0) @binding(1) var<storage, read_write> square: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;

const A: f32 = 3.4445;
const B: f32 = -4.775;
const C: f32 = 2.0315;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count) {
    return;
  }
  // The diagonal's elements have the numbers 0, n + 1, 2 (n + 1), ...
  var diagonal = Value(0.0);
  for (var lane = 0u; lane < LANES; lane += 1u) {
    if ((index * LANES + lane) % (params.n + 1u) == 0u) {
      diagonal += unit_lane(lane);
    }
  }
  square[index] = A * diagonal + B * gram[index] + C * square[index];
}
