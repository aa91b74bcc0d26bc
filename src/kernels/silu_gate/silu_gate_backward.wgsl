// With s = 1 / (1 + e^-gate): d_gate = d_out * up * s * (1 + gate * (1 - s)); d_up = d_out * gate * s. One Value a thread: vec4<f32>
// when the count is a multiple of four, else f32 (the launcher puts the alias in front).
//   binding 0  read        d_out  (count) as Value
//   binding 1  read        gate   (count) as Value
//   binding 2  read        up     (count) as Value
//   binding 3  read_write  d_gate (count) as Value
//   binding 4  read_write  d_up   (count) as Value
//   binding 5  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
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
    // e^80 is still finite, and 1 / (1 + e^80) is nothing beside any gate: no infinity arises.
    let e = exp(min(-x, Value(80.0)));
    let s = Value(1.0) / (Value(1.0) + e);
    let silu = x * s;
    let d = d_out[index];
    d_gate[index] = d * up[index] * (s + silu * (e * s));  // 1 - s is e * s, in which no digits cancel
    d_up[index] = d * silu;
  }
}
