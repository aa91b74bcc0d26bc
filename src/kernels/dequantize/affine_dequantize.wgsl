// out = q * scale + bias with a scale and a bias for each group of values along a row, as MLX lays them out; four values a thread.
// Rows are whole groups, so groups are counted over all rows and the rows themselves need not be known.
//   binding 0  read        q      (rows, C * bits / 32) u32, lowest bits first
//   binding 1  read        scales (rows, C / group) f16, bf16 or f32, read as u32
//   binding 2  read        biases (rows, C / group), like scales
//   binding 3  read_write  out    (rows, C / 4) vec4<f32>
//   binding 4  uniform     Params
// Grid: ceil(rows * C / 1024), folded on x and y.

struct Params {
  count: u32,        // of out, in vec4
  bits: u32,         // 4 or 8
  group_shift: u32,  // log2 of a group's length in vec4: 3, 4 or 5
  scale_kind: u32,   // SCALE_F16, ...
}

@group(0) @binding(0) var<storage, read> q: array<u32>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> biases: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count) {
    return;
  }
  // Four values are a whole u32 at 8 bits and half of one at 4 bits.
  let word = q[index * params.bits / 8u] >> (16u * (index & (1u - params.bits / 8u)));
  let values = (vec4<u32>(word) >> (vec4<u32>(0u, 1u, 2u, 3u) * params.bits)) & vec4<u32>((1u << params.bits) - 1u);
  let number = index >> params.group_shift;
  let scale = scale_value(scales[scale_word(number, params.scale_kind)], number, params.scale_kind);
  let bias = scale_value(biases[scale_word(number, params.scale_kind)], number, params.scale_kind);
  out[index] = fma(vec4<f32>(values), vec4<f32>(scale), vec4<f32>(bias));
}
