// out[out_offset + i] = source[source_offset + i], one Value a thread: vec4<u32> when count and offsets are multiples of four, else u32 (the
// launcher puts the alias in front). For other strides: copy_strided.
//   binding 0  read        source  words as Value
//   binding 1  read_write  out     words as Value
//   binding 2  uniform     params  count, source offset and out offset in Values
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // all in Values
  source_offset: u32,
  out_offset: u32,
}

@group(0) @binding(0) var<storage, read> source: array<Value>;
@group(0) @binding(1) var<storage, read_write> out: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index < params.count) {
    out[params.out_offset + index] = source[params.source_offset + index];
  }
}
