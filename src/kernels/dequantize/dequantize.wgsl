// out[i] = byte i of q as f32, four values a thread: one u32 in, one vec4 out. For a count that is a multiple of four; any other has
// dequantize_scalar.wgsl.
//   binding 0  read        q   (count / 4) u32, four values each, the lowest byte first
//   binding 1  read_write  out (count / 4) vec4<f32>
//   binding 2  uniform     Params
// Grid: ceil(count / 1024), folded on x and y.

struct Params {
  count: u32,  // in vec4
}

@group(0) @binding(0) var<storage, read> q: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    out[index] = vec4<f32>((vec4<u32>(q[index]) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u));
  }
}
