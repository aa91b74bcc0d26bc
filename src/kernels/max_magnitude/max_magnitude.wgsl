// maxima[w] = bits of the largest |value| that workgroup w saw. Without its sign, the bits of an f32 grow with its value, and those of
// infinity and NaN are above all others: an integer maximum, exact in any order. A workgroup of 256
// threads takes a stride of the values, four vectors a thread and turn; behind the end the last one is read again, which changes no
// maximum. max_magnitude_scale.wgsl makes the scale of the maxima.
//   binding 0  read        values  [count/4] vec4<u32>: f32 as bits
//   binding 1  read_write  maxima  [workgroups] u32
//   binding 2  uniform     params  vec4<u32>: vectors of values, first workgroup's place in maxima, _, _
// Grid: (workgroups, 1, 1), any number of them; 1024 keep a large GPU busy.

@group(0) @binding(0) var<storage, read> values: array<Value>;
@group(0) @binding(1) var<storage, read_write> maxima: array<u32>;
@group(0) @binding(2) var<uniform> params: vec4<u32>;

const THREADS: u32 = 256u;
const MAGNITUDE: u32 = 0x7fffffffu;
var<workgroup> tree: array<Value, THREADS>;

fn magnitude(index: u32) -> Value {
  return values[min(index, params.x - 1u)] & Value(MAGNITUDE);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let stride = groups.x * THREADS;
  var largest = Value(0u);
  for (var i = group.x * THREADS + thread; i < params.x; i += 4u * stride) {
    let first = max(magnitude(i), magnitude(i + stride));
    let second = max(magnitude(i + 2u * stride), magnitude(i + 3u * stride));
    largest = max(largest, max(first, second));
  }
  tree[thread] = largest;
  workgroupBarrier();
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    if (thread < half) {
      tree[thread] = max(tree[thread], tree[thread + half]);
    }
    workgroupBarrier();
  }
  if (thread == 0u) {
    maxima[params.y + group.x] = largest_of(tree[0]);
  }
}
