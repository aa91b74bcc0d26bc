// sgd_update without momentum: w -= lr (clip scale * gradient + decay w). Joined behind sgd_step.
//   binding 0  read_write  weights   (count) f32 as Value
//   binding 1  read        gradients (count) f32 as Value
//   binding 2  read        blocks    (table_length) of weight decay (f32 bits) and number of elements, for each 64 elements of the slab
//   binding 3  read        stats     (4) f32: norm, clip scale, non-finite flag, 0; flag set: nothing is written
//   binding 4  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y. Elements outside all tensors keep their bits.

@group(0) @binding(4) var<uniform> params: Params;

fn direction(index: u32, gradient: Value, lanes: u32) -> Value {
  return gradient;
}
