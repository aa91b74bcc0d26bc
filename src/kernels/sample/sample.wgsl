// A token a row: top-k, top-p, min-p, temperature, draw. One workgroup of 256 threads a row. Tokens are ordered by logit and, among equal
// ones, by index, so that each filter keeps those down to one token, and the draw, too, is one token: the first at which the mass from the
// top passes a bound. Each is found by a radix select, 8 bits of logit and index at a time: the mass of all tokens with a digit is added
// up, in whole multiples of 2^-31 as integers of 64 bits, so that the sum does not depend on an order; the digit where the mass passes
// the bound is the token's. As soon as few enough tokens are left they are put on a list in workgroup memory, and the row is not
// read again. Joined behind ordered_bits, row_bits_4 or row_bits_1 (folder top_k) and sample_philox.
//   binding 0  read        logits (rows, V) f32 as bits, in RowBits; penalised
//   binding 1  read_write  tokens (rows) u32
//   binding 2  uniform     Params
// Grid: rows, folded on x and y.

struct Params {
  rows: u32,
  columns: u32,  // V, at most 2^24
  greedy: u32,   // 1: the largest logit is the token
  keep: u32,     // tokens that top-k keeps; 0: all
  top_p: u32,    // in multiples of 2^-32; 0: all
  by_index: u32,  // 1: the draw walks by index
  log_min_p: f32,  // far below 0: all
  temperature: f32,
  key: vec2<u32>,  // of the random numbers: seed and stream, mixed
  position: vec2<u32>,  // lower half first
  first_row: u32,
}

@group(0) @binding(0) var<storage, read> logits: array<RowBits>;
@group(0) @binding(1) var<storage, read_write> tokens: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;

const THREADS: u32 = 256u;
const BINS: u32 = THREADS;  // 8 bits; one a thread
const LIST: u32 = 1024u;
const LAST_INDEX: u32 = 0xffffffu;  // an index is searched as this minus it, so that lower ones count as larger

// What a search is for.
const TOP_K: u32 = 0u;
const TOP_P: u32 = 1u;
const DRAW: u32 = 2u;

// What is done with each token.
const WEIGH: u32 = 0u;
const PUT_ON_LIST: u32 = 1u;
const GIVE: u32 = 2u;

var<workgroup> mass_low: array<atomic<u32>, BINS>;
var<workgroup> mass_high: array<atomic<u32>, BINS>;
var<workgroup> number_in_bin: array<atomic<u32>, BINS>;
var<workgroup> running_mass: array<vec2<u32>, THREADS>;
var<workgroup> running_number: array<u32, THREADS>;
var<workgroup> found: vec4<u32>;
var<workgroup> found_number: u32;
var<workgroup> best_place: vec2<u32>;   // key, turned
var<workgroup> bound_place: vec2<u32>;
var<workgroup> listed: atomic<u32>;
var<workgroup> list: array<vec2<u32>, LIST>;  // key, index

// A token's place in the order: larger comes first.
struct Place {
  key: u32,     // ordered_bits of the logit
  turned: u32,  // LAST_INDEX - index
}

// The one that comes earlier in the order, so keeps less.
fn narrower(a: Place, b: Place) -> Place {
  if (a.key > b.key || (a.key == b.key && a.turned > b.turned)) {
    return a;
  }
  return b;
}

struct Search {
  purpose: u32,
  kept: Place,   // the last token that the filters keep so far
  digits: u32,   // found so far: 0 to 3 are of the key, 4 to 6 of the index
  prefix: Place,  // these digits, with zeros behind them
  above: Place,   // a mask over these digits
  best: f32,      // largest logit
  listed: u32,    // tokens on the list; 0: the row is read
}

// Integers of 64 bits: the lower half first.

fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn subtract_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn is_less_64(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// a * fraction / 2^32, rounded down.
fn part_of_64(a: vec2<u32>, fraction: u32) -> vec2<u32> {
  return add_64(vec2<u32>(a.y * fraction, multiply_high(a.y, fraction)), vec2<u32>(multiply_high(a.x, fraction), 0u));
}

fn logit_of(key: u32) -> f32 {
  return bitcast<f32>(key ^ select(0xffffffffu, 0x80000000u, key >= 0x80000000u));
}

// e^((logit - best) / temperature) in multiples of 2^-31, to nearest; top-p looks at the distribution before the temperature.
fn mass_of(key: u32, search: Search) -> u32 {
  if (search.purpose == TOP_K) {
    return 1u;
  }
  let distance = logit_of(key) - search.best;
  return u32(exp(select(distance, distance / params.temperature, search.purpose == DRAW)) * 0x1p31f + 0.5);
}

fn is_wanted(key: u32, index: u32, search: Search) -> bool {
  let turned = LAST_INDEX - index;
  let is_kept = key > search.kept.key || (key == search.kept.key && turned >= search.kept.turned);
  return is_kept && (key & search.above.key) == search.prefix.key && (turned & search.above.turned) == search.prefix.turned;
}

fn weigh(key: u32, index: u32, search: Search) {
  let of_key = (key >> ((24u - 8u * search.digits) & 31u)) & 255u;
  let of_index = ((LAST_INDEX - index) >> ((48u - 8u * search.digits) & 31u)) & 255u;
  let bin = select(of_index, of_key, search.digits < 4u);
  let mass = mass_of(key, search);
  let before = atomicAdd(&mass_low[bin], mass);
  if (before + mass < before) {
    atomicAdd(&mass_high[bin], 1u);
  }
  atomicAdd(&number_in_bin[bin], 1u);
}

fn load_bits(row: u32, index: u32) -> u32 {
  return lane_of(logits[row * (params.columns / LANES) + index / LANES], index % LANES);
}

// Which of the 4 * LANES values from four places of the row are wanted, as bits. All four loads are on their way at once; beyond the
// row's end the last is read again and not wanted.
fn wanted_of_row(row: u32, first: u32, search: Search) -> u32 {
  let length = params.columns / LANES;
  var loaded: array<RowBits, 4>;
  for (var i = 0u; i < 4u; i += 1u) {
    loaded[i] = logits[row * length + min(first + i * THREADS, length - 1u)];
  }
  var wanted = 0u;
  for (var i = 0u; i < 4u; i += 1u) {
    for (var lane = 0u; lane < LANES; lane += 1u) {
      let index = (first + i * THREADS) * LANES + lane;
      let is_one = index < params.columns && is_wanted(ordered_bits(lane_of(loaded[i], lane)), index, search);
      wanted |= select(0u, 1u << (i * LANES + lane), is_one);
    }
  }
  return wanted;
}

// Does it to every token that is wanted. The values are read once more one by one, from the cache, so that the doing stands here once.
fn visit(doing: u32, row: u32, search: Search, thread: u32) {
  let from_list = search.listed > 0u;
  let length = select(params.columns / LANES, search.listed, from_list);
  for (var first = thread; first < length; first += select(4u, 1u, from_list) * THREADS) {
    var left: u32;
    if (from_list) {
      left = select(0u, 1u, is_wanted(list[first].x, list[first].y, search));
    } else {
      left = wanted_of_row(row, first, search);
    }
    while (left != 0u) {
      let bit = firstTrailingBit(left);
      left &= left - 1u;
      var index = (first + bit / LANES * THREADS) * LANES + bit % LANES;
      var key: u32;
      if (from_list) {
        key = list[first].x;
        index = list[first].y;
      } else {
        key = ordered_bits(load_bits(row, index));
      }
      switch doing {
        case WEIGH: { weigh(key, index, search); }
        case PUT_ON_LIST: {
          let place = atomicAdd(&listed, 1u);
          if (place < LIST) {
            list[place] = vec2<u32>(key, index);
          }
        }
        default: { tokens[row] = index; }
      }
    }
  }
}

// The first place in the order and, when top-k keeps no more tokens than there are threads, a place that it does not go beyond: each
// thread finds its own first place, and the one of them with as many others before it as top-k keeps has at least so many tokens before.
fn find_best(row: u32, thread: u32) {
  let length = params.columns / LANES;
  var best = vec2<u32>(0u);  // key, turned
  for (var first = thread; first < length; first += 4u * THREADS) {
    var loaded: array<RowBits, 4>;
    for (var i = 0u; i < 4u; i += 1u) {
      loaded[i] = logits[row * length + min(first + i * THREADS, length - 1u)];
    }
    for (var i = 0u; i < 4u; i += 1u) {
      for (var lane = 0u; lane < LANES; lane += 1u) {
        // Indices rise, so among equal logits the first stays. Beyond the end the row's last values come again.
        let index = min(first + i * THREADS, length - 1u) * LANES + lane;
        let key = ordered_bits(lane_of(loaded[i], lane));
        best = select(best, vec2<u32>(key, LAST_INDEX - index), key > best.x);
      }
    }
  }
  running_mass[thread] = best;
  if (thread == 0u) {
    bound_place = vec2<u32>(0u);
  }
  workgroupBarrier();
  var rank = 0u;
  for (var i = 0u; i < THREADS; i += 1u) {
    let other = running_mass[i];
    rank += select(0u, 1u, other.x > best.x || (other.x == best.x && other.y > best.y));
  }
  if (rank == 0u) {
    best_place = best;
  }
  if (rank + 1u == params.keep && best.x > 0u) {
    bound_place = best;
  }
}

fn clear_bins(thread: u32) {
  atomicStore(&mass_low[thread], 0u);
  atomicStore(&mass_high[thread], 0u);
  atomicStore(&number_in_bin[thread], 0u);
  workgroupBarrier();
}

// Mass and number of the tokens in this thread's bin and all above it; thread 0 has the topmost.
fn add_bins(thread: u32) {
  let bin = BINS - 1u - thread;
  running_mass[thread] = vec2<u32>(atomicLoad(&mass_low[bin]), atomicLoad(&mass_high[bin]));
  running_number[thread] = atomicLoad(&number_in_bin[bin]);
  workgroupBarrier();
  for (var stride = 1u; stride < THREADS; stride *= 2u) {
    let other = max(thread, stride) - stride;
    let mass = select(vec2<u32>(0u), running_mass[other], thread >= stride);
    let number = select(0u, running_number[other], thread >= stride);
    workgroupBarrier();
    running_mass[thread] = add_64(running_mass[thread], mass);
    running_number[thread] += number;
    workgroupBarrier();
  }
}

// Where the mass from the top passes this bound: of all of the mass, for the first digit of a search.
fn bound_of(purpose: u32, fraction: u32) -> vec2<u32> {
  let part = part_of_64(running_mass[THREADS - 1u], fraction);
  if (purpose == TOP_K) {
    return vec2<u32>(params.keep - 1u, 0u);
  }
  // top-p keeps the token that reaches p, not the one that passes it.
  let is_above_0 = part.x != 0u || part.y != 0u;
  return select(part, subtract_64(part, vec2<u32>(1u, 0u)), purpose == TOP_P && is_above_0);
}

struct Bin {
  bin: u32,
  bound: vec2<u32>,  // what is left of the bound within the bin
  before: u32,       // tokens in the bins above
  number: u32,       // tokens in it
}

fn find_bin(bound: vec2<u32>, thread: u32) -> Bin {
  let bin = BINS - 1u - thread;
  let through = running_mass[thread];
  let before = subtract_64(through, vec2<u32>(atomicLoad(&mass_low[bin]), atomicLoad(&mass_high[bin])));
  if (!is_less_64(bound, before) && is_less_64(bound, through)) {
    let number = atomicLoad(&number_in_bin[bin]);
    found = vec4<u32>(bin, subtract_64(bound, before), running_number[thread] - number);
    found_number = number;
  }
  let result = workgroupUniformLoad(&found);
  return Bin(result.x, result.yz, result.w, workgroupUniformLoad(&found_number));
}

fn add_digit(search: Search, bin: u32, by_index: bool) -> Search {
  var next = search;
  if (search.digits < 4u) {
    next.prefix.key |= bin << (24u - 8u * search.digits);
  } else {
    next.prefix.turned |= bin << (48u - 8u * search.digits);
  }
  next.digits += 1u;
  next.above.key = select(~(0xffffffffu >> min(8u * next.digits, 31u)), 0xffffffffu, next.digits >= 4u);
  next.above.key = select(next.above.key, 0u, by_index);
  next.above.turned = select(0u, LAST_INDEX & ~(LAST_INDEX >> min(8u * max(next.digits, 4u) - 32u, 31u)), next.digits > 4u);
  return next;
}

// Puts all kept tokens on the list; returns their number, or 0 if the list is too short for them.
fn make_list(row: u32, search: Search, thread: u32) -> u32 {
  if (thread == 0u) {
    atomicStore(&listed, 0u);
  }
  workgroupBarrier();
  var all = search;
  all.prefix = Place(0u, 0u);
  all.above = Place(0u, 0u);
  visit(PUT_ON_LIST, row, all, thread);
  workgroupBarrier();
  if (thread == 0u) {
    found_number = atomicLoad(&listed);
  }
  let number = workgroupUniformLoad(&found_number);
  return select(0u, number, number <= LIST);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let row = group.x + group.y * groups.x;
  if (row >= params.rows) {
    return;
  }
  find_best(row, thread);
  let best = workgroupUniformLoad(&best_place);
  if (params.greedy != 0u) {
    if (thread == 0u) {
      tokens[row] = LAST_INDEX - best.y;
    }
    return;
  }
  let bound_of_best = workgroupUniformLoad(&bound_place);
  let random = philox4x32(vec4<u32>(0u, params.first_row + row, params.position), params.key).y;
  let largest = logit_of(best.x);
  let least = Place(ordered_bits(bitcast<u32>(largest + params.log_min_p)), 0u);
  let nothing = Place(0u, 0u);
  var search = Search(TOP_K, Place(bound_of_best.x, bound_of_best.y), 0u, nothing, nothing, largest, 0u);
  var few_are_left = bound_of_best.x > 0u;  // as a rule; make_list tells

  for (var purpose = select(TOP_P, TOP_K, params.keep != 0u); purpose <= DRAW; purpose += 1u) {
    if (purpose == TOP_P && params.top_p == 0u) {
      continue;
    }
    let by_index = purpose == DRAW && params.by_index != 0u;
    let first_digit = select(0u, 4u, by_index);
    if (purpose == DRAW) {
      search.kept = narrower(search.kept, least);
    }
    search.purpose = purpose;
    search.digits = first_digit;
    search.prefix = nothing;
    search.above = nothing;
    var bound = vec2<u32>(0u);
    var before = 0u;
    for (var digit = first_digit; digit < 7u; digit += 1u) {
      if (few_are_left && search.listed == 0u) {
        search.listed = make_list(row, search, thread);
      }
      clear_bins(thread);
      visit(WEIGH, row, search, thread);
      workgroupBarrier();
      add_bins(thread);
      if (digit == first_digit) {
        bound = bound_of(purpose, select(random, params.top_p, purpose == TOP_P));
      }
      let bin = find_bin(bound, thread);
      bound = bin.bound;
      before += bin.before;
      search = add_digit(search, bin.bin, by_index);
      few_are_left = !by_index && before + bin.number <= LIST;
      // What top-k or top-p keeps, and what is drawn, comes no later than the end of this bin.
      if (few_are_left || purpose != DRAW) {
        search.kept = narrower(search.kept, search.prefix);
      }
      // A bin of one token is that token; top-k may take a whole bin.
      if (bin.number == 1u || (purpose == TOP_K && bin.bound.x + 1u == bin.number)) {
        break;
      }
    }
  }
  visit(GIVE, row, search, thread);
}
