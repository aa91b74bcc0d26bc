// The left operand of a product on the matrix units, made ready: each value times the operand's scale as f16, in panels of 64 rows. A panel
// holds blocks of 64 rows by 16 terms one behind the other, so that a block of 16 x 16 is 512 bytes in a row, which a subgroup reads from
// memory as it needs it. With SPLIT the upper halves come first, behind all of them the lower ones. Rows and terms are multiples of 64.
//
// Where the operand's rows lie along the sum (X_ALONG) a thread has eight terms of a row; else sixteen terms of four rows, so that both
// its reads and what it writes are whole pieces of 32 bytes.

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

fn load(row: u32, term: u32, scale: f32) -> vec4<f32> {
  if (X_ALONG) {
    return load_x(row, term, params.x, params.z) * scale;
  }
  return load_x(term, row, params.z, params.x) * scale;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  let scale = x_scale();
  if (index == 0u) {
    // A power of two's inverse, exactly.
    inverse[0] = bitcast<f32>(0x7f000000u - bitcast<u32>(scale));
  }
  if (X_ALONG) {
    let row = index / (params.z / 8u);
    let term = index % (params.z / 8u) * 8u;
    if (row < params.x) {
      put(row, term, load(row, term, scale), load(row, term + 4u, scale));
    }
    return;
  }
  let row = index % (params.x / 4u) * 4u;
  let term = index / (params.x / 4u) * 16u;
  if (term >= params.z) {
    return;
  }
  for (var half = 0u; half < 16u; half += 8u) {
    let t0 = load(row, term + half, scale);
    let t1 = load(row, term + half + 1u, scale);
    let t2 = load(row, term + half + 2u, scale);
    let t3 = load(row, term + half + 3u, scale);
    let t4 = load(row, term + half + 4u, scale);
    let t5 = load(row, term + half + 5u, scale);
    let t6 = load(row, term + half + 6u, scale);
    let t7 = load(row, term + half + 7u, scale);
    put(row, term + half, vec4<f32>(t0.x, t1.x, t2.x, t3.x), vec4<f32>(t4.x, t5.x, t6.x, t7.x));
    put(row + 1u, term + half, vec4<f32>(t0.y, t1.y, t2.y, t3.y), vec4<f32>(t4.y, t5.y, t6.y, t7.y));
    put(row + 2u, term + half, vec4<f32>(t0.z, t1.z, t2.z, t3.z), vec4<f32>(t4.z, t5.z, t6.z, t7.z));
    put(row + 3u, term + half, vec4<f32>(t0.w, t1.w, t2.w, t3.w), vec4<f32>(t4.w, t5.w, t6.w, t7.w));
  }
}
