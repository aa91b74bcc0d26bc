// fp32_to_fp16 for a count that is no multiple of four: one word of out a thread. Joined behind round_to_half.
//   binding 0  read        values (count) u32: the bits of an f32
//   binding 1  read_write  out    (ceil(count / 2)) u32: two halves, the first in the low half; after an odd last one 0
//   binding 2  uniform     Params
// Grid: ceil(count / 512), folded on x and y.

struct Params {
  count: u32,  // of values
}

@group(0) @binding(0) var<storage, read> values: array<u32>;
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
  var second = 0u;
  if (index + 1u < params.count) {
    second = values[index + 1u];
  }
  out[word] = two_halves(vec2<u32>(values[index], second));
}
