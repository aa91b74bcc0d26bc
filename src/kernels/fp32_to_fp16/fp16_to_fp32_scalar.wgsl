// fp16_to_fp32 for a count that is no multiple of four: one word of halves a thread. Joined behind widen_half.
//   binding 0  read        halves (ceil(count / 2)) u32: two halves, the first in the low half
//   binding 1  read_write  out    (count) u32: the bits of an f32
//   binding 2  uniform     Params
// Grid: ceil(count / 512), folded on x and y.

struct Params {
  count: u32,  // of values
}

@group(0) @binding(0) var<storage, read> halves: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let word = (group.x + group.y * groups.x) * 256u + thread;
  let index = word * 2u;
  if (index >= params.count) {
    return;
  }
  let pair = two_floats(halves[word]);
  out[index] = pair.x;
  if (index + 1u < params.count) {
    out[index + 1u] = pair.y;
  }
}
