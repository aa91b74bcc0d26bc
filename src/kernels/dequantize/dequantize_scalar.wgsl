// out[i] = byte i of q as f32, one value a thread, for a count that is no multiple of four.
//   binding 0  read        q   (ceil(count / 4)) u32, four values each, the lowest byte first
//   binding 1  read_write  out (count) f32
//   binding 2  uniform     Params
// Grid: ceil(count / 256), folded on x and y.

struct Params {
  count: u32,
}

@group(0) @binding(0) var<storage, read> q: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    out[index] = f32((q[index >> 2u] >> (8u * (index & 3u))) & 255u);
  }
}
