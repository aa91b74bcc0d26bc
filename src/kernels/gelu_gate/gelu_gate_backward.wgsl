// d_gate = d_out * up * gelu'(gate); d_up = d_out * gelu(gate). One Value a thread: vec4<f32> when the count is a multiple of four, else
// f32 (the launcher puts the alias in front). gelu_value stands in gelu_values.wgsl, which comes before this.
//   binding 0  read        d_out  (count) as Value
//   binding 1  read        gate   (count) as Value
//   binding 2  read        up     (count) as Value
//   binding 3  read_write  d_gate (count) as Value
//   binding 4  read_write  d_up   (count) as Value
//   binding 5  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
  form: u32,   // 0 erf, 1 tanh
}

@group(0) @binding(0) var<storage, read> d_out: array<Value>;
@group(0) @binding(1) var<storage, read> gate: array<Value>;
@group(0) @binding(2) var<storage, read> up: array<Value>;
@group(0) @binding(3) var<storage, read_write> d_gate: array<Value>;
@group(0) @binding(4) var<storage, read_write> d_up: array<Value>;
@group(0) @binding(5) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    let x = gate[index];
    let gelu = gelu_value(x, params.form);
    let gradient = d_out[index];
    d_gate[index] = gradient * up[index] * gelu.slope;
    d_up[index] = gradient * x * gelu.share;
  }
}
