// One AdamW step of a slab: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w -= lr decay w,
// w -= lr (m / bias_correction1) / (sqrt(v / bias_correction2) + eps), with g the gradient times the clip scale.
// Joined behind adamw_step.
//   binding 0  read_write  weights   (count) f32 as Value
//   binding 1  read        gradients (count) f32 as Value
//   binding 2  read_write  m         (count) f32 as Value
//   binding 3  read_write  v         (count) f32 as Value
//   binding 4  read        blocks    (table_length) of weight decay (f32 bits) and number of elements, for each 64 elements of the slab
//   binding 5  read        stats     (4) f32: norm, clip scale, non-finite flag, 0; flag set: nothing is written
//   binding 6  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y. Elements outside all tensors keep their bits.

@group(0) @binding(6) var<uniform> params: Params;

fn store_mirror(index: u32, value: Value, lanes: u32) {
}
