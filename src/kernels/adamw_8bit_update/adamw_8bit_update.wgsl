// One AdamW step of a slab whose moments are 8-bit codes: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
// w -= lr decay w, w -= lr (m / bias_correction1) / (sqrt(v / bias_correction2) + eps), with g the gradient times the clip scale; then m
// and v are coded by the largest |m| and v of their block. Joined behind adamw_8bit_step.
//   binding 0  read_write  weights   (count) f32 as Weight: vec4<f32> when the count is a multiple of four, else f32
//   binding 1  read        gradients (count) f32 as Weight
//   binding 2  read_write  m_codes   (ceil(count / 4)) u32: four codes each, at the places of the weights
//   binding 3  read_write  v_codes   (ceil(count / 4)) u32
//   binding 4  read_write  scales    (blocks) vec2<f32>: the largest |m| and v of each block
//   binding 5  read        table     (128 + blocks) vec4<u32>: 256 values of m's code and 256 of v's (f32 bits), then of each block of up to 256 elements of one tensor the first element, how many, the weight decay (f32 bits), 0
//   binding 6  read        stats     (4) f32: norm, clip scale, non-finite flag, 0; flag set: nothing is written
//   binding 7  uniform     Params
// Grid: ceil(blocks / 4), folded on x and y. Weights outside all tensors keep their bits.

@group(0) @binding(7) var<uniform> params: Params;

fn write_mirror(first: u32, value: vec4<f32>, lanes: u32) {
}
