// The k largest values of a row and their indices, sorted; of equal values the lower index first. One workgroup of 256 threads a row. A
// radix select finds the smallest value that is taken: its digits, 11 bits at a time from the top, by counting how many values have each
// digit; among equal values the digits of the index decide. Then what is taken is collected and sorted by a bitonic network in blocks
// that fit workgroup memory, which are merged where k is larger. Joined behind ordered_bits and row_bits_4 or row_bits_1.
//   binding 0  read        x       (rows, V) f32 as bits, in RowBits
//   binding 1  read_write  values  (rows, k) f32 as bits
//   binding 2  read_write  indices (rows, k) u32
//   binding 3  uniform     Params
// Grid: rows, folded on x and y.

struct Params {
  rows: u32,
  columns: u32,  // V, at most 2^22
  k: u32,        // at most V
}

@group(0) @binding(0) var<storage, read> x: array<RowBits>;
@group(0) @binding(1) var<storage, read_write> values: array<u32>;
@group(0) @binding(2) var<storage, read_write> indices: array<u32>;
@group(0) @binding(3) var<uniform> params: Params;

const THREADS: u32 = 256u;
const BINS: u32 = 2048u;
const LAST_INDEX: u32 = 0x3fffffu;  // an index is searched as this minus it, so that lower ones count as larger
const BLOCK: u32 = 512u;            // pairs that are sorted in workgroup memory

var<workgroup> bins: array<atomic<u32>, BINS>;
var<workgroup> running: array<u32, THREADS>;
var<workgroup> found: vec3<u32>;
var<workgroup> taken: atomic<u32>;
var<workgroup> block_keys: array<u32, BLOCK>;
var<workgroup> block_indices: array<u32, BLOCK>;

// The smallest pair that is taken: its digits found so far, with zeros behind them.
struct Threshold {
  key: u32,
  turned: u32,  // LAST_INDEX - index
}

// Where a digit stands, and which bits are above it. Digits 0 to 2 are of the key, 11, 11 and 10 bits; 3 and 4 of the index.
struct Digit {
  key_shift: u32,
  key_bits: u32,  // of the digit, at the bottom; 0 if it is none of the key
  key_above: u32,
  turned_shift: u32,
  turned_bits: u32,
  turned_above: u32,
}

fn digit_number(number: u32) -> Digit {
  switch number {
    case 0u: { return Digit(21u, 0x7ffu, 0u, 0u, 0u, 0u); }
    case 1u: { return Digit(10u, 0x7ffu, 0xffe00000u, 0u, 0u, 0u); }
    case 2u: { return Digit(0u, 0x3ffu, 0xfffffc00u, 0u, 0u, 0u); }
    case 3u: { return Digit(0u, 0u, 0xffffffffu, 11u, 0x7ffu, 0u); }
    default: { return Digit(0u, 0u, 0xffffffffu, 0u, 0x7ffu, 0xfffff800u); }
  }
}

// Counts the values whose digits above this one are the threshold's. Four loads are on their way before the first is looked at; beyond
// the row's end the last is read again.
fn count_row(digit: Digit, threshold: Threshold, row: u32, thread: u32) {
  let length = params.columns / LANES;
  for (var first = thread; first < length; first += 4u * THREADS) {
    var loaded: array<RowBits, 4>;
    for (var i = 0u; i < 4u; i += 1u) {
      loaded[i] = x[row * length + min(first + i * THREADS, length - 1u)];
    }
    for (var i = 0u; i < 4u; i += 1u) {
      for (var lane = 0u; lane < LANES; lane += 1u) {
        let key = ordered_bits(lane_of(loaded[i], lane));
        let turned = LAST_INDEX - ((first + i * THREADS) * LANES + lane);
        if (first + i * THREADS < length && (key & digit.key_above) == threshold.key &&
            (turned & digit.turned_above) == threshold.turned) {
          atomicAdd(&bins[((key >> digit.key_shift) & digit.key_bits) |
                          ((turned >> digit.turned_shift) & digit.turned_bits)], 1u);
        }
      }
    }
  }
}

// Puts all values at or above the threshold into the results, in any order.
fn collect_row(threshold: Threshold, row: u32, thread: u32) {
  let length = params.columns / LANES;
  for (var first = thread; first < length; first += 4u * THREADS) {
    var loaded: array<RowBits, 4>;
    for (var i = 0u; i < 4u; i += 1u) {
      loaded[i] = x[row * length + min(first + i * THREADS, length - 1u)];
    }
    for (var i = 0u; i < 4u; i += 1u) {
      for (var lane = 0u; lane < LANES; lane += 1u) {
        let key = ordered_bits(lane_of(loaded[i], lane));
        let index = (first + i * THREADS) * LANES + lane;
        if (first + i * THREADS < length &&
            (key > threshold.key || (key == threshold.key && LAST_INDEX - index >= threshold.turned))) {
          let place = row * params.k + atomicAdd(&taken, 1u);
          values[place] = lane_of(loaded[i], lane);
          indices[place] = index;
        }
      }
    }
  }
}

// The bin in which value number `wanted` (from 1) lies when counted from the top; how many lie above it; how many it holds.
fn find_bin(wanted: u32, thread: u32) -> vec3<u32> {
  let top = BINS - 1u - thread * (BINS / THREADS);  // this thread has eight bins from here downwards
  var own = 0u;
  for (var i = 0u; i < BINS / THREADS; i += 1u) {
    own += atomicLoad(&bins[top - i]);
  }
  running[thread] = own;
  workgroupBarrier();
  for (var stride = 1u; stride < THREADS; stride *= 2u) {
    let before = select(0u, running[max(thread, stride) - stride], thread >= stride);
    workgroupBarrier();
    running[thread] += before;
    workgroupBarrier();
  }
  var above = running[thread] - own;
  if (above < wanted && wanted <= running[thread]) {
    var bin = top;
    var count = atomicLoad(&bins[bin]);
    while (above + count < wanted) {
      above += count;
      bin -= 1u;
      count = atomicLoad(&bins[bin]);
    }
    found = vec3<u32>(bin, above, count);
  }
  return workgroupUniformLoad(&found);
}

fn find_threshold(row: u32, thread: u32) -> Threshold {
  var threshold = Threshold(0u, 0u);
  var wanted = params.k;
  for (var number = 0u; number < 5u; number += 1u) {
    for (var bin = thread; bin < BINS; bin += THREADS) {
      atomicStore(&bins[bin], 0u);
    }
    workgroupBarrier();
    let digit = digit_number(number);
    count_row(digit, threshold, row, thread);
    workgroupBarrier();
    let bin = find_bin(wanted, thread);
    if (number < 3u) {
      threshold.key |= bin.x << digit.key_shift;
    } else {
      threshold.turned |= bin.x << digit.turned_shift;
    }
    wanted -= bin.y;
    if (bin.z == wanted) {
      break;  // the whole bin is taken
    }
  }
  return threshold;
}

// Sorting. Every comparison puts the pair that comes first at the lower place, so places from k on, which do not exist, would keep
// what is larger than all; comparisons with them are left out.

fn comes_after(key_a: u32, index_a: u32, key_b: u32, index_b: u32) -> bool {
  return key_a < key_b || (key_a == key_b && index_a > index_b);
}

// Places of comparison number `i` at this distance: of neighbours in half blocks, or mirrored in blocks of `2 * stride`.
fn places(i: u32, stride: u32, mirrored: bool) -> vec2<u32> {
  let a = i / stride * 2u * stride + i % stride;
  return vec2<u32>(a, select(a + stride, (i / stride + 1u) * 2u * stride - 1u - i % stride, mirrored));
}

fn order_in_block(count: u32, stride: u32, mirrored: bool, thread: u32) {
  let p = places(thread, stride, mirrored);
  if (p.y < count && comes_after(block_keys[p.x], block_indices[p.x], block_keys[p.y], block_indices[p.y])) {
    let key = block_keys[p.x];
    let index = block_indices[p.x];
    block_keys[p.x] = block_keys[p.y];
    block_indices[p.x] = block_indices[p.y];
    block_keys[p.y] = key;
    block_indices[p.y] = index;
  }
  workgroupBarrier();
}

// Blocks of the row's results, one after the other, through workgroup memory: sorted from the ground, or the last steps of a merge.
fn order_blocks(row: u32, merge: bool, thread: u32) {
  let start = row * params.k;
  for (var first = 0u; first < params.k; first += BLOCK) {
    let count = min(BLOCK, params.k - first);
    for (var i = thread; i < count; i += THREADS) {
      block_keys[i] = ordered_bits(values[start + first + i]);
      block_indices[i] = indices[start + first + i];
    }
    workgroupBarrier();
    var half = select(1u, BLOCK, merge);
    var stride = select(1u, BLOCK / 2u, merge);
    while (half < select(BLOCK, 2u * BLOCK, merge)) {
      order_in_block(count, stride, stride == half, thread);
      stride /= 2u;
      if (stride == 0u) {
        half *= 2u;
        stride = half;
      }
    }
    for (var i = thread; i < count; i += THREADS) {
      values[start + first + i] = x_bits(row, block_indices[i]);
      indices[start + first + i] = block_indices[i];
    }
    storageBarrier();
    workgroupBarrier();
  }
}

// The value at an index of a row, with the bits it has.
fn x_bits(row: u32, index: u32) -> u32 {
  return lane_of(x[row * (params.columns / LANES) + index / LANES], index % LANES);
}

// One step of a merge of longer parts, in the results themselves.
fn order_results(row: u32, stride: u32, mirrored: bool, thread: u32) {
  let start = row * params.k;
  let comparisons = (params.k + 2u * stride - 1u) / (2u * stride) * stride;
  for (var i = thread; i < comparisons; i += THREADS) {
    let p = places(i, stride, mirrored);
    if (p.y < params.k) {
      let value_a = values[start + p.x];
      let value_b = values[start + p.y];
      let index_a = indices[start + p.x];
      let index_b = indices[start + p.y];
      if (comes_after(ordered_bits(value_a), index_a, ordered_bits(value_b), index_b)) {
        values[start + p.x] = value_b;
        values[start + p.y] = value_a;
        indices[start + p.x] = index_b;
        indices[start + p.y] = index_a;
      }
    }
  }
  storageBarrier();
  workgroupBarrier();
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let row = group.x + group.y * groups.x;
  if (row >= params.rows) {
    return;
  }
  var threshold = Threshold(0u, 0u);
  if (params.k < params.columns) {
    threshold = find_threshold(row, thread);
  }
  if (thread == 0u) {
    atomicStore(&taken, 0u);
  }
  workgroupBarrier();
  collect_row(threshold, row, thread);
  storageBarrier();
  workgroupBarrier();
  // Parts of this length come out sorted.
  for (var length = BLOCK; length < 2u * max(params.k, BLOCK); length *= 2u) {
    for (var stride = length / 2u; stride >= BLOCK; stride /= 2u) {
      order_results(row, stride, 2u * stride == length, thread);
    }
    order_blocks(row, length > BLOCK, thread);
  }
}
