// totals (+)= the sum of the losses and the number of rows that count, by one workgroup of 256 threads: each thread takes every 256th row
// in order, then a tree of 256.
//   binding 0  read        losses  (rows) f32, 0 for rows that do not count
//   binding 1  read        targets (rows) i32
//   binding 2  read_write  totals  one Totals: f32, u32
//   binding 3  uniform     Params
// Grid: 1.

struct Params {
  rows: u32,
  vocabulary: u32,  // V: a target counts if it is below, as u32
  accumulate: u32,  // 1: added to what is there
}

struct Totals {
  loss_sum: f32,
  count: u32,
}

@group(0) @binding(0) var<storage, read> losses: array<f32>;
@group(0) @binding(1) var<storage, read> targets: array<i32>;
@group(0) @binding(2) var<storage, read_write> totals: Totals;
@group(0) @binding(3) var<uniform> params: Params;

const THREADS: u32 = 256u;
var<workgroup> sums: array<f32, THREADS>;
var<workgroup> counts: array<u32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  var sum = 0.0;
  var count = 0u;
  for (var row = thread; row < params.rows; row += THREADS) {
    sum += losses[row];
    count += select(0u, 1u, u32(targets[row]) < params.vocabulary);
  }
  sums[thread] = sum;
  counts[thread] = count;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
    if (thread < stride) {
      sums[thread] += sums[thread + stride];
      counts[thread] += counts[thread + stride];
    }
    workgroupBarrier();
  }
  if (thread == 0u) {
    if (params.accumulate != 0u) {
      totals = Totals(totals.loss_sum + sums[0], totals.count + counts[0]);
    } else {
      totals = Totals(sums[0], counts[0]);
    }
  }
}
