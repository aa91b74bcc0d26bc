// Partial sums of d_weight: partial_sums[block, c] = sum over the block's rows, in order, of d_out * x * inverse. One column a thread,
// so that neighbouring threads read neighbouring addresses.
//   binding 0  read        d_out   (rows, C) f32
//   binding 1  read        x       (rows, C) f32
//   binding 2  read        inverse (rows) f32
//   binding 3  read_write  partial_sums (blocks, C) f32
//   binding 4  uniform     Params
// Grid: (ceil(C / 256), blocks), blocks folded on y and z.

struct Params {
  rows: u32,
  columns: u32,
  block_rows: u32,
}

@group(0) @binding(0) var<storage, read> d_out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> inverse_rms: array<f32>;
@group(0) @binding(3) var<storage, read_write> partial_sums: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let column = global.x;
  let block = global.y + global.z * groups.y;
  let begin = block * params.block_rows;
  if (column >= params.columns || begin >= params.rows) {
    return;
  }
  let end = min(begin + params.block_rows, params.rows);
  var sum = 0.0;
  for (var row = begin; row < end; row += 1u) {
    let index = row * params.columns + column;
    sum += d_out[index] * x[index] * inverse_rms[row];
  }
  partial_sums[block * params.columns + column] = sum;
}
