// out = e^(x - maximum) / sum of e^(x - maximum) over the row; values at or below MASKED count as minus infinity, and a row in which all do
// gives zeros. Joined behind lanes_1 or lanes_4 and row_tree; Value is vec4<f32> when C is a multiple of four, else f32.
//   binding 0  read        x       (rows, C) as Value
//   binding 1  read_write  out     (rows, C) as Value
//   binding 2  uniform     params  rows, C in Values, threads a row
// Grid: ceil(rows / (256 / threads a row)), folded on x and y. Threads a row: the power of two from 8 to 256 at or above
// C in Values / 4.

struct Params {
  rows: u32,
  length: u32,       // of a row, in Values
  row_threads: u32,  // threads that share a row: see row_tree
}

@group(0) @binding(0) var<storage, read> x: array<Value>;
@group(0) @binding(1) var<storage, read_write> out: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;

alias Part = vec2<f32>;  // largest value, and the sum of e^(x - largest)

const LOWEST: f32 = -3.0e38;
const MASKED: f32 = -1.5e38;

// Both sums are brought to the larger maximum.
fn combine(a: Part, b: Part) -> Part {
  let largest = max(a.x, b.x);
  return Part(largest, a.y * exp(a.x - largest) + b.y * exp(b.x - largest));
}

fn exponential(value: Value, largest: f32) -> Value {
  return select(exp(value - Value(largest)), Value(0.0), value <= Value(MASKED));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let seat = thread & (params.row_threads - 1u);
  let row = (group.x + group.y * groups.x) * (THREADS / params.row_threads) + thread / params.row_threads;
  let start = row * params.length;
  let end = select(0u, params.length, row < params.rows);  // a row out of range has no Values, yet meets every barrier
  let rest = seat + KEEP * params.row_threads;             // where what is not kept begins

  // Relative to this thread's own maximum, so that each exponential of a kept value is taken once.
  var kept: array<Value, KEEP>;
  var largest = LOWEST;
  for (var k = 0u; k < KEEP; k += 1u) {
    let i = seat + k * params.row_threads;
    if (i < end) {
      kept[k] = x[start + i];
      largest = max(largest, largest_lane(kept[k]));
    }
  }
  for (var i = rest; i < end; i += params.row_threads) {
    largest = max(largest, largest_lane(x[start + i]));
  }
  var sum = Value(0.0);
  for (var k = 0u; k < KEEP; k += 1u) {
    if (seat + k * params.row_threads < end) {
      kept[k] = exponential(kept[k], largest);
      sum += kept[k];
    }
  }
  for (var i = rest; i < end; i += params.row_threads) {
    sum += exponential(x[start + i], largest);
  }
  let whole = combine_over_row(Part(largest, sum_of_lanes(sum)), thread, params.row_threads);

  var inverse = 0.0;
  if (whole.y != 0.0) {
    inverse = 1.0 / whole.y;
  }
  let factor = exp(largest - whole.x) * inverse;
  for (var k = 0u; k < KEEP; k += 1u) {
    let i = seat + k * params.row_threads;
    if (i < end) {
      out[start + i] = kept[k] * factor;
    }
  }
  for (var i = rest; i < end; i += params.row_threads) {
    out[start + i] = exponential(x[start + i], whole.x) * inverse;
  }
}
