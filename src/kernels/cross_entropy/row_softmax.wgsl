// What the kernels of cross_entropy share: the statistics of a row in one pass by a workgroup of 256 threads (online softmax: Milakov and
// Gimelshein 2018, arXiv:1805.02867), its loss, and the gradient of a logit. Joined behind lanes_1 or lanes_4 and soft_cap with a kernel
// that declares the row's values as `logits: array<Value>`. 4 KiB of workgroup memory.
// A thread takes KEPT Values at a time into registers: their loads can be in flight together, the sum shrinks once for all of them, and the
// last ones stay for the gradient: a row of up to BLOCK Values (8,192 logits by four, 2,048 one by one) is read once.

struct Params {
  rows: u32,
  length: u32,           // V in Values
  scale: f32,            // of the gradient
  label_smoothing: f32,  // e: the target is (1 - e) * onehot + e / V
  z_loss: f32,           // z: adds z * logsumexp^2
  soft_cap: f32,         // of the logits; 0: none
  inverse_cap: f32,      // 1 / soft_cap; 0: none
}

const THREADS: u32 = 256u;
const KEPT: u32 = 8u;
const BLOCK: u32 = 2048u;     // THREADS * KEPT
const LOWEST: f32 = -3.0e38;  // stands for minus infinity, which a compiler may assume away

alias Kept = array<Value, KEPT>;

// Of logits under the soft cap: the largest one, sum of e^(x - largest), sum of (largest - x), how many there are.
alias Statistics = vec4<f32>;
var<workgroup> row_part: array<Statistics, THREADS>;

// Both are brought to the larger maximum.
fn join(a: Statistics, b: Statistics) -> Statistics {
  let largest = max(a.x, b.x);
  let rise_a = largest - a.x;
  let rise_b = largest - b.x;
  return Statistics(largest, a.y * exp(-rise_a) + b.y * exp(-rise_b), fma(a.w, rise_a, a.z) + fma(b.w, rise_b, b.z), a.w + b.w);
}

// start: index of the row's first Value; first: of the block within the row. Value k of a thread is first + k * THREADS + thread.
fn load_block(kept: ptr<function, Kept>, start: u32, first: u32, thread: u32) {
  for (var k = 0u; k < KEPT; k += 1u) {
    let i = first + k * THREADS + thread;
    if (i < params.length) {
      (*kept)[k] = logits[start + i];
    }
  }
  if (params.soft_cap != 0.0) {
    for (var k = 0u; k < KEPT; k += 1u) {
      (*kept)[k] = soft_cap((*kept)[k]);
    }
  }
}

// Leaves the row's last block in `kept`. Call it in uniform control flow: it holds barriers.
fn row_softmax(kept: ptr<function, Kept>, start: u32, thread: u32) -> Statistics {
  var part = Statistics(LOWEST, 0.0, 0.0, 0.0);
  for (var first = 0u; first < params.length; first += BLOCK) {
    load_block(kept, start, first, thread);
    var largest = part.x;
    for (var k = 0u; k < KEPT; k += 1u) {
      if (first + k * THREADS + thread < params.length) {
        largest = max(largest, largest_lane((*kept)[k]));
      }
    }
    part = join(part, Statistics(largest, 0.0, 0.0, 0.0));
    for (var k = 0u; k < KEPT; k += 1u) {
      if (first + k * THREADS + thread < params.length) {
        let below = Value(largest) - (*kept)[k];
        part += Statistics(0.0, sum_of_lanes(exp(-below)), sum_of_lanes(below), f32(LANES));
      }
    }
  }
  row_part[thread] = part;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      row_part[thread] = join(row_part[thread], row_part[thread + stride]);
    }
    workgroupBarrier();
  }
  return row_part[0];
}

// A target that counts is below V; one left out is negative and so, as u32, above any V.
fn target_counts(wanted: u32) -> bool {
  return wanted / LANES < params.length;
}

fn log_sum_exp_of(row: Statistics) -> f32 {
  return row.x + log(row.y);
}

// value: the capped Value that holds the target's logit. The differences first: they are exact where both logits are large and near.
fn loss_of(row: Statistics, value: Value, wanted: u32) -> f32 {
  let target_below = row.x - sum_of_lanes(value * unit_lane(wanted % LANES));
  let z = log_sum_exp_of(row);
  return log(row.y) + (1.0 - params.label_smoothing) * target_below + params.label_smoothing * (row.z / row.w) + params.z_loss * z * z;
}

// What all logits of a row share.
struct RowGradient {
  largest: f32,
  factor: f32,        // of e^(x - largest)
  even_share: f32,    // what label smoothing takes from each logit
  target_share: f32,  // what the target's logit loses
}

fn gradient_of_row(row: Statistics) -> RowGradient {
  let pull = 1.0 + 2.0 * params.z_loss * log_sum_exp_of(row);
  return RowGradient(row.x, params.scale * pull / row.y, params.scale * params.label_smoothing / row.w,
                     params.scale * (1.0 - params.label_smoothing));
}

// The gradient of Value i of the row, before the soft cap.
fn gradient_of(gradient: RowGradient, value: Value, i: u32, wanted: u32) -> Value {
  var result = exp(value - Value(gradient.largest)) * gradient.factor - Value(gradient.even_share);
  if (i == wanted / LANES) {
    result -= gradient.target_share * unit_lane(wanted % LANES);
  }
  return result * soft_cap_slope(value);
}
