// From the sums of g^2: norm, clip scale min(1, max_norm / norm), and flags for a sum that is not finite and for a norm above
// largest_norm, in one workgroup of 256 threads. Joined behind block_sums_total.
//   binding 0  read        block_sums (count) f32 as bits
//   binding 1  read_write  stats      (4) f32: norm, clip scale (0 when flagged), flag 1 or 0, 1 when flagged for its norm alone
//   binding 2  uniform     Params
// Grid: 1.

struct Params {
  count: u32,
  max_norm: f32,      // 0: no clipping
  largest_norm: f32,  // a norm above it is flagged; 0: any is taken
}

@group(0) @binding(0) var<storage, read> block_sums: array<u32>;
@group(0) @binding(1) var<storage, read_write> stats: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  let total = total_of(0u, params.count, thread);
  if (thread == 0u) {
    let finite = total < LARGEST;
    let norm = sqrt(min(total, LARGEST));
    var clip = 1.0;
    if (params.max_norm > 0.0 && norm > params.max_norm) {
      clip = params.max_norm / norm;
    }
    stats[0] = norm;
    let outlier = finite && params.largest_norm > 0.0 && norm > params.largest_norm;
    let taken = finite && !outlier;
    stats[1] = select(0.0, clip, taken);
    stats[2] = select(1.0, 0.0, taken);
    stats[3] = select(0.0, 1.0, outlier);
  }
}
