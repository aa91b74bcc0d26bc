// d_prediction = (prediction - wanted) * scale, one Value a thread: vec4<f32> when the count is a multiple of four, else f32 (the launcher
// puts the alias in front).
//   binding 0  read        prediction    (count) as Value
//   binding 1  read        wanted        (count) as Value
//   binding 2  read_write  d_prediction  (count) as Value
//   binding 3  uniform     params        count in Values, scale
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // in Values
  scale: f32,
}

@group(0) @binding(0) var<storage, read> prediction: array<Value>;
@group(0) @binding(1) var<storage, read> wanted: array<Value>;
@group(0) @binding(2) var<storage, read_write> d_prediction: array<Value>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    d_prediction[index] = (prediction[index] - wanted[index]) * params.scale;
  }
}
