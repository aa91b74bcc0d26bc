// out = silu(gate) * up with silu(x) = x / (1 + e^-x), one Value a thread: vec4<f32> when the count is a multiple of four, else f32
// (the launcher puts the alias in front). Source: Shazeer 2020, arXiv:2002.05202.
//   binding 0  read        gate (count) as Value
//   binding 1  read        up   (count) as Value
//   binding 2  read_write  out  (count) as Value
//   binding 3  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
}

@group(0) @binding(0) var<storage, read> gate: array<Value>;
@group(0) @binding(1) var<storage, read> up: array<Value>;
@group(0) @binding(2) var<storage, read_write> out: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

// e^80 is still finite, and 1 / (1 + e^80) is nothing beside any gate: no infinity arises.
fn sigmoid(x: Value) -> Value {
  return Value(1.0) / (Value(1.0) + exp(min(-x, Value(80.0))));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    let x = gate[index];
    out[index] = x * sigmoid(x) * up[index];
  }
}
