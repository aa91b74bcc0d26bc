// The left operand of a product on the matrix units, made ready: each value times the operand's scale as f16, in panels of 64 rows. A panel
// holds blocks of 64 rows by 16 terms one behind the other, so that a block of 16 x 16 is 512 bytes in a row, which a subgroup reads from
// memory as it needs it. With SPLIT the upper halves come first, behind all of them the lower ones. Rows and terms are multiples of 64.
//
// Where the operand's rows lie along the sum (X_ALONG) a workgroup has 32 rows of 64 terms, a thread eight terms of one: it reads pieces of
// 256 bytes and writes pieces of 128. Else it has 64 rows of 64 terms, which are turned in workgroup memory: it reads pieces of 256 bytes
// and writes 8 KB in a row.

const WORDS: u32 = 33u;  // of a row of the turned tile: 32 of two halves, and one against bank conflicts
var<workgroup> turned: array<u32, 64u * WORDS>;

fn two_halves(a: f32, b: f32) -> u32 {
  return bitcast<u32>(vec2<f16>(f16(a), f16(b)));
}

fn eight_halves(low: vec4<f32>, high: vec4<f32>) -> vec4<u32> {
  return vec4<u32>(two_halves(low.x, low.y), two_halves(low.z, low.w), two_halves(high.x, high.y), two_halves(high.z, high.w));
}

/// Eight terms of a row, from term `term` on.
fn put(row: u32, term: u32, low: vec4<f32>, high: vec4<f32>) {
  let place = (row / 64u * (params.z / 16u) + term / 16u) * 128u + row % 64u * 2u + term / 8u % 2u;
  if (SPLIT) {
    let upper_low = upper_half(low);
    let upper_high = upper_half(high);
    panels[place] = eight_halves(upper_low, upper_high);
    panels[place + params.x * params.z / 8u] = eight_halves(low - upper_low, high - upper_high);
  } else {
    panels[place] = eight_halves(low, high);
  }
}

/// Two terms of four rows into the turned tile.
fn turn(row: u32, pair: u32, even: vec4<f32>, odd: vec4<f32>) {
  turned[row * WORDS + pair] = two_halves(even.x, odd.x);
  turned[(row + 1u) * WORDS + pair] = two_halves(even.y, odd.y);
  turned[(row + 2u) * WORDS + pair] = two_halves(even.z, odd.z);
  turned[(row + 3u) * WORDS + pair] = two_halves(even.w, odd.w);
}

/// The turned tile into the panels, from vector `place` on: four blocks of 128 vectors.
fn put_turned(place: u32, thread: u32) {
  for (var i = thread; i < 512u; i += 256u) {
    let at = i % 128u / 2u * WORDS + i / 128u * 8u + i % 2u * 4u;
    panels[place + i] = vec4<u32>(turned[at], turned[at + 1u], turned[at + 2u], turned[at + 3u]);
  }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = group.x + group.y * groups.x;
  let scale = x_scale();
  if (index == 0u && thread == 0u) {
    // A power of two's inverse, exactly.
    inverse[0] = bitcast<f32>(0x7f000000u - bitcast<u32>(scale));
  }
  let first_term = index % (params.z / 64u) * 64u;
  let tile = index / (params.z / 64u);
  if (X_ALONG) {
    let row = tile * 32u + thread / 8u;
    let term = first_term + thread % 8u * 8u;
    if (row < params.x) {
      put(row, term, load_x(row, term, params.x, params.z) * scale, load_x(row, term + 4u, params.x, params.z) * scale);
    }
    return;
  }
  if (tile * 64u >= params.x) {
    return;
  }
  let row = thread % 16u * 4u;
  let pair = thread / 16u;
  let column = tile * 64u + row;
  let term = first_term + 2u * pair;
  let even0 = load_x(term, column, params.z, params.x) * scale;
  let odd0 = load_x(term + 1u, column, params.z, params.x) * scale;
  let even1 = load_x(term + 32u, column, params.z, params.x) * scale;
  let odd1 = load_x(term + 33u, column, params.z, params.x) * scale;
  let place = (tile * (params.z / 16u) + first_term / 16u) * 128u;
  if (SPLIT) {
    turn(row, pair, upper_half(even0), upper_half(odd0));
    turn(row, pair + 16u, upper_half(even1), upper_half(odd1));
  } else {
    turn(row, pair, even0, odd0);
    turn(row, pair + 16u, even1, odd1);
  }
  workgroupBarrier();
  put_turned(place, thread);
  if (SPLIT) {
    workgroupBarrier();
    turn(row, pair, even0 - upper_half(even0), odd0 - upper_half(odd0));
    turn(row, pair + 16u, even1 - upper_half(even1), odd1 - upper_half(odd1));
    workgroupBarrier();
    put_turned(place + params.x * params.z / 8u, thread);
  }
}
