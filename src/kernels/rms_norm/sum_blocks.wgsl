// out[c] (+)= sum over blocks, in order, of partial_sums[block, c]: the second half of a fixed tree over rows.
//   binding 0  read        partial_sums (blocks, C) f32
//   binding 1  read_write  out     (C) f32
//   binding 2  uniform     Params
// Grid: ceil(C / 256).

struct Params {
  blocks: u32,
  columns: u32,
  accumulate: u32,
}

@group(0) @binding(0) var<storage, read> partial_sums: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
  let column = global.x;
  if (column >= params.columns) {
    return;
  }
  var sum = 0.0;
  if (params.accumulate != 0u) {
    sum = out[column];
  }
  for (var block = 0u; block < params.blocks; block += 1u) {
    sum += partial_sums[block * params.columns + column];
  }
  out[column] = sum;
}
