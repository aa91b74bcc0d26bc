// The 8-bit code of the moments, both ways, for four values at a time. The chapter draws it: seven decades below 1, each cut into equal
// cells, twice as many as in the decade below; a code stands for the middle of its cell. Source: Dettmers et al. 2022, arXiv:2110.02861.
//
// Both codes count in the same way by a number t: cells of the decade with 2^e cells have the numbers 2^e to 2^(e+1) - 1.
//   v, without sign: code = t - 1; t = 1 is zero, t = 256 is 1, the highest decade has 128 cells.
//   m, with sign:    code = 127 + t or 127 - t; t = 0 is zero, t = 128 is 1, the highest decade has 64 cells.

const M_ZERO: u32 = 127u;

// What the codes of four bytes stand for, by the values that lie in workgroup memory from `first` on.
fn decoded(codes: u32, first: u32) -> vec4<f32> {
  return vec4<f32>(code_values[first + (codes & 0xffu)], code_values[first + ((codes >> 8u) & 0xffu)],
                   code_values[first + ((codes >> 16u) & 0xffu)], code_values[first + (codes >> 24u)]);
}

// The t of the cell nearest to each x in [0, 1), in a code whose highest decade has `cells` cells.
fn nearest_cell(x: vec4<f32>, cells: f32) -> vec4<f32> {
  // Three halvings find the decade: scaled lies in [0.1, 1), n is the number of its cells.
  var scaled = x;
  var n = vec4<f32>(cells);
  let below4 = scaled < vec4<f32>(1e-4);
  scaled = select(scaled, scaled * 1e4, below4);
  n = select(n, n * 0.0625, below4);
  let below2 = scaled < vec4<f32>(1e-2);
  scaled = select(scaled, scaled * 1e2, below2);
  n = select(n, n * 0.25, below2);
  let below1 = scaled < vec4<f32>(1e-1);
  scaled = select(scaled, scaled * 1e1, below1);
  n = select(n, n * 0.5, below1);
  // A fifth of the decade's first cell is nearer to the middle of the last cell of the decade below.
  let place = (scaled - 0.1) * (n / 0.9);
  let t = select(n + floor(place), n - 1.0, place < vec4<f32>(0.2));
  return min(t, 2.0 * n - 1.0);
}

// Codes of m / largest: from -1 to 1.
fn encoded_m(x: vec4<f32>) -> vec4<u32> {
  let size = abs(x);
  // Half of the lowest value, 5.5e-7, and more is nearer to it than to zero.
  let least = select(vec4<f32>(0.0), vec4<f32>(1.0), size >= vec4<f32>(2.75e-7));
  let cell = vec4<u32>(max(nearest_cell(size, 64.0), least));
  let t = select(cell, vec4<u32>(128u), size >= vec4<f32>(1.0 - 0.225 / 64.0));
  return select(M_ZERO + t, M_ZERO - min(t, vec4<u32>(127u)), x < vec4<f32>(0.0));
}

// Codes of v / largest: from 0 to 1. What is above zero stays so, since the step divides by the root.
fn encoded_v(x: vec4<f32>) -> vec4<u32> {
  let cell = vec4<u32>(max(nearest_cell(x, 128.0), vec4<f32>(2.0)));
  let t = select(cell, vec4<u32>(256u), x >= vec4<f32>(1.0 - 0.225 / 128.0));
  return select(t - 1u, vec4<u32>(0u), x <= vec4<f32>(0.0));
}

fn packed(codes: vec4<u32>) -> u32 {
  return codes.x | (codes.y << 8u) | (codes.z << 16u) | (codes.w << 24u);
}
