// block_sums[block] = sum of (prediction - wanted)^2 over the block's values; pass "sum" adds them up. Joined behind lanes_1 or lanes_4 and
// row_tree; Value is vec4<f32> when the count is a multiple of four, else f32.
//   binding 0  read        prediction  (count) as Value
//   binding 1  read        wanted      (count) as Value
//   binding 2  read_write  block_sums  (blocks) f32
//   binding 3  uniform     params      count in Values, steps
// Grid: blocks of 256 * steps Values, folded on x and y.

struct Params {
  count: u32,  // in Values
  steps: u32,  // Values a thread takes
}

@group(0) @binding(0) var<storage, read> prediction: array<Value>;
@group(0) @binding(1) var<storage, read> wanted: array<Value>;
@group(0) @binding(2) var<storage, read_write> block_sums: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

alias Part = f32;

fn combine(a: Part, b: Part) -> Part {
  return a + b;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let block = group.x + group.y * groups.x;
  let begin = block * THREADS * params.steps;
  if (begin >= params.count) {
    return;
  }
  let end = min(begin + THREADS * params.steps, params.count);
  var squares = Value(0.0);
  for (var i = begin + thread; i < end; i += THREADS) {
    let difference = prediction[i] - wanted[i];
    squares = fma(difference, difference, squares);
  }
  let sum = combine_over_row(sum_of_lanes(squares), thread, THREADS);
  if (thread == 0u) {
    block_sums[block] = sum;
  }
}
