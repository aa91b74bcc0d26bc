// d_x[d, s] = sum over k of d_out[d, s - k + 1] * weight[d, k], and of each segment of a row the four sums of d_out[d, s] times x[d, s - 1],
// x[d, s], x[d, s + 1] and 1, which pass "sum" adds up to d_weight and d_bias. Joined behind lanes_1 or lanes_4, conv1d_join_1 or
// conv1d_join_4, and row_tree; Value is vec4<f32> when S is a multiple of four, else f32.
//   binding 0  read        d_out         (B, D, S) as Value
//   binding 1  read        x             (B, D, S) as Value
//   binding 2  read        weight        (D, 3) f32
//   binding 3  read_write  d_x           (B, D, S) as Value; written when wanted & 1
//   binding 4  read_write  segment_sums  (B, D, segments) vec4<f32>; written when wanted & 2
//   binding 5  uniform     params        B * D, S in Values, D, threads a segment, segments, wanted
// Grid: ceil(B * D * segments / (256 / threads a segment)), folded on x and y. Threads a segment: the power of two from 8 to 256 at or above
// S in Values / 4; a segment has four times as many Values.

struct Params {
  rows: u32,         // B * D
  length: u32,       // S in Values
  channels: u32,     // D
  row_threads: u32,  // threads that share a segment: see row_tree
  segments: u32,     // of a row
  wanted: u32,       // WRITES_D_X, SUMS
}

const WRITES_D_X: u32 = 1u;
const SUMS: u32 = 2u;

@group(0) @binding(0) var<storage, read> d_out: array<Value>;
@group(0) @binding(1) var<storage, read> x: array<Value>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_x: array<Value>;
@group(0) @binding(4) var<storage, read_write> segment_sums: array<vec4<f32>>;
@group(0) @binding(5) var<uniform> params: Params;

alias Part = vec4<f32>;

fn combine(a: Part, b: Part) -> Part {
  return a + b;
}

// The same convolution with the weights turned round.
fn write_d_x(index: u32, i: u32, channel: u32, value: Value) {
  var before = Value(0.0);
  if (i > 0u) {
    before = d_out[index - 1u];
  }
  var after = Value(0.0);
  if (i + 1u < params.length) {
    after = d_out[index + 1u];
  }
  d_x[index] = join_before(before, value) * weight[channel * 3u + 2u] + value * weight[channel * 3u + 1u] +
               join_after(value, after) * weight[channel * 3u];
}

fn products(index: u32, i: u32, gradient: Value) -> Part {
  let value = x[index];
  var before = Value(0.0);
  if (i > 0u) {
    before = x[index - 1u];
  }
  var after = Value(0.0);
  if (i + 1u < params.length) {
    after = x[index + 1u];
  }
  return Part(sum_of_lanes(gradient * join_before(before, value)), sum_of_lanes(gradient * value),
              sum_of_lanes(gradient * join_after(value, after)), sum_of_lanes(gradient));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let seat = thread & (params.row_threads - 1u);
  let segment = (group.x + group.y * groups.x) * (THREADS / params.row_threads) + thread / params.row_threads;
  let row = segment / params.segments;
  let first = segment % params.segments * KEEP * params.row_threads + seat;
  let start = row * params.length;
  let end = select(0u, params.length, row < params.rows);  // a row out of range has no Values, yet meets every barrier
  let channel = row % params.channels;

  var sums = Part(0.0);
  for (var k = 0u; k < KEEP; k += 1u) {
    let i = first + k * params.row_threads;
    if (i < end) {
      let gradient = d_out[start + i];
      if ((params.wanted & WRITES_D_X) != 0u) {
        write_d_x(start + i, i, channel, gradient);
      }
      if ((params.wanted & SUMS) != 0u) {
        sums += products(start + i, i, gradient);
      }
    }
  }
  if ((params.wanted & SUMS) == 0u) {
    return;
  }
  let whole = combine_over_row(sums, thread, params.row_threads);
  if (seat == 0u && row < params.rows) {
    segment_sums[segment] = whole;
  }
}
