// out[i] = sum over 16 chains c of x after `rounds` times x = 0.5 x + 0.25, from (i % 64 + c) / 64. Sixteen independent multiply-adds a
// round in registers, one value written at the end: arithmetic alone bounds it.
//   binding 0  read_write  out (count) f32
//   binding 1  uniform     Params
// Grid: ceil(count / 256), folded on x and y.

struct Params {
  count: u32,
  rounds: u32,
  factor: f32,  // 0.5 and 0.25: from here, so that the compiler cannot shorten the loop
  addend: f32,
}

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count) {
    return;
  }
  let factor = vec4<f32>(params.factor);
  let addend = vec4<f32>(params.addend);
  var a = (vec4<f32>(0.0, 1.0, 2.0, 3.0) + f32(index % 64u)) / 64.0;
  var b = a + 4.0 / 64.0;
  var c = a + 8.0 / 64.0;
  var d = a + 12.0 / 64.0;
  for (var round = 0u; round < params.rounds; round += 1u) {
    a = fma(a, factor, addend);
    b = fma(b, factor, addend);
    c = fma(c, factor, addend);
    d = fma(d, factor, addend);
  }
  let sum = (a + b) + (c + d);
  out[index] = (sum.x + sum.y) + (sum.z + sum.w);
}
