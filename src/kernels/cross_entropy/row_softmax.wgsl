// Maximum of a row and the sum of e^(x - maximum), in one pass by a workgroup of 256 threads (online softmax: Milakov and Gimelshein
// 2018, arXiv:1805.02867). Joined behind lanes_1 or lanes_4 with a kernel that declares the row's values as
// `logits: array<Value>`. Uses 2 KiB of workgroup memory. Call it in uniform control flow: it holds barriers.

const THREADS: u32 = 256u;
const LOWEST: f32 = -3.0e38;  // stands for minus infinity, which a compiler may assume away
var<workgroup> row_part: array<vec2<f32>, THREADS>;  // maximum, sum

// Both sums are brought to the larger maximum.
fn join(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  let largest = max(a.x, b.x);
  return vec2<f32>(largest, a.y * exp(a.x - largest) + b.y * exp(b.x - largest));
}

// start: index of the row's first Value; length in Values.
fn row_softmax(start: u32, length: u32, thread: u32) -> vec2<f32> {
  var largest = LOWEST;
  var sum = 0.0;
  for (var i = thread; i < length; i += THREADS) {
    let value = logits[start + i];
    let raised = max(largest, largest_lane(value));
    if (raised > largest) {
      sum *= exp(largest - raised);
      largest = raised;
    }
    sum += sum_of_lanes(exp(value - Value(largest)));
  }
  row_part[thread] = vec2<f32>(largest, sum);
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      row_part[thread] = join(row_part[thread], row_part[thread + stride]);
    }
    workgroupBarrier();
  }
  return row_part[0];
}
