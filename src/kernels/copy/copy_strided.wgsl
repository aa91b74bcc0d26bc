// out[out_offset + index . out_strides] = source[source_offset + index . source_strides] for every index of four dimensions, one Value a
// thread: vec4<u32> when the last dimension lies in one piece on both sides and size, strides and offsets are multiples of four, else u32 (the
// launcher puts the alias in front; a Value along the last dimension then has a stride of 1).
//   binding 0  read        source  words as Value
//   binding 1  read_write  out     words as Value
//   binding 2  uniform     params  count, offsets, sizes and strides in Values
// Grid: ceil(count in Values / 256), folded on x and y.

struct Params {
  count: u32,  // all in Values
  source_offset: u32,
  out_offset: u32,
  size_1: u32,  // of dimensions 1, 2, 3; that of dimension 0 follows from count
  size_2: u32,
  size_3: u32,
  source_stride_0: u32,
  source_stride_1: u32,
  source_stride_2: u32,
  source_stride_3: u32,
  out_stride_0: u32,
  out_stride_1: u32,
  out_stride_2: u32,
  out_stride_3: u32,
}

@group(0) @binding(0) var<storage, read> source: array<Value>;
@group(0) @binding(1) var<storage, read_write> out: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count) {
    return;
  }
  let i3 = index % params.size_3;
  let rows = index / params.size_3;
  let i2 = rows % params.size_2;
  let planes = rows / params.size_2;
  let i1 = planes % params.size_1;
  let i0 = planes / params.size_1;
  let start = params.source_offset + i0 * params.source_stride_0 + i1 * params.source_stride_1 +
              i2 * params.source_stride_2 + i3 * params.source_stride_3;
  out[params.out_offset + i0 * params.out_stride_0 + i1 * params.out_stride_1 + i2 * params.out_stride_2 +
      i3 * params.out_stride_3] = source[start];
}
