// out = the f16 nearest to each value, to even on a tie: subnormals are kept, too large a value gives infinity, NaN stays NaN.
// Both are bound as u32, so that no load or store touches a bit. Two times four values a thread. Joined behind round_to_half.
//   binding 0  read        values (count / 4) vec4<u32>: the bits of four f32
//   binding 1  read_write  out    (count / 4) vec2<u32>: four halves, the first in the low half of the first word
//   binding 2  uniform     Params
// Grid: ceil(count / 2048), folded on x and y.

struct Params {
  count: u32,  // of vectors of four values
}

@group(0) @binding(0) var<storage, read> values: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let first = (group.x + group.y * groups.x) * 512u + thread;
  for (var index = first; index < min(first + 512u, params.count); index += 256u) {
    out[index] = four_halves(values[index]);
  }
}
