// out = gelu(gate) * up, one Value a thread: vec4<f32> when the count is a multiple of four, else f32 (the launcher puts the alias in
// front). gelu_value stands in gelu_values.wgsl, which comes before this. Source: Shazeer 2020, arXiv:2002.05202.
//   binding 0  read        gate (count) as Value
//   binding 1  read        up   (count) as Value
//   binding 2  read_write  out  (count) as Value
//   binding 3  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
  form: u32,   // 0 erf, 1 tanh
}

@group(0) @binding(0) var<storage, read> gate: array<Value>;
@group(0) @binding(1) var<storage, read> up: array<Value>;
@group(0) @binding(2) var<storage, read_write> out: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    let x = gate[index];
    out[index] = x * gelu_value(x, params.form).share * up[index];
  }
}
