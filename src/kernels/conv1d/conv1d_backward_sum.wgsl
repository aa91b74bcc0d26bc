// d_weight[d] and d_bias[d] (+)= the sums of segment_sums over batch and segments of channel d. Joined behind row_tree.
//   binding 0  read        segment_sums  (B, D, segments) vec4<f32>
//   binding 1  read_write  d_weight      (D, 3) f32; written when wanted & 1
//   binding 2  read_write  d_bias        (D) f32; written when wanted & 2
//   binding 3  uniform     params        B, D, segments, threads a channel, wanted
// Grid: ceil(D / (256 / threads a channel)), folded on x and y. Threads a channel: the power of two from 8 to 256 at or above
// B * segments / 4.

struct Params {
  batch: u32,
  channels: u32,
  segments: u32,
  row_threads: u32,  // threads that share a channel: see row_tree
  wanted: u32,       // WRITES_D_WEIGHT, WRITES_D_BIAS; ADDS: add to what is there
}

const WRITES_D_WEIGHT: u32 = 1u;
const WRITES_D_BIAS: u32 = 2u;
const ADDS: u32 = 4u;

@group(0) @binding(0) var<storage, read> segment_sums: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> d_weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> d_bias: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

alias Part = vec4<f32>;

fn combine(a: Part, b: Part) -> Part {
  return a + b;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let seat = thread & (params.row_threads - 1u);
  let channel = (group.x + group.y * groups.x) * (THREADS / params.row_threads) + thread / params.row_threads;
  let end = select(0u, params.batch * params.segments, channel < params.channels);
  var sums = Part(0.0);
  for (var i = seat; i < end; i += params.row_threads) {
    let row = i / params.segments * params.channels + channel;
    sums += segment_sums[row * params.segments + i % params.segments];
  }
  let whole = combine_over_row(sums, thread, params.row_threads);
  if (seat != 0u || channel >= params.channels) {
    return;
  }
  let adds = (params.wanted & ADDS) != 0u;
  if ((params.wanted & WRITES_D_WEIGHT) != 0u) {
    for (var k = 0u; k < 3u; k += 1u) {
      let index = channel * 3u + k;
      if (adds) {
        d_weight[index] += whole[k];
      } else {
        d_weight[index] = whole[k];
      }
    }
  }
  if ((params.wanted & WRITES_D_BIAS) != 0u) {
    if (adds) {
      d_bias[channel] += whole.w;
    } else {
      d_bias[channel] = whole.w;
    }
  }
}
