// adamw_8bit_update that also writes each new weight, rounded to the nearest half, into the mirror. Joined behind round_to_half, mirror_4
// or mirror_words, and adamw_8bit_step.
//   binding 0  read_write  weights   (count) f32 as Weight: vec4<f32> when the count is a multiple of four, else f32
//   binding 1  read        gradients (count) f32 as Weight
//   binding 2  read_write  m_codes   (ceil(count / 4)) u32: four codes each, at the places of the weights
//   binding 3  read_write  v_codes   (ceil(count / 4)) u32
//   binding 4  read_write  scales    (blocks) vec2<f32>: the largest |m| and v of each block
//   binding 5  read        table     (128 + blocks) vec4<u32>, as for adamw_8bit_update
//   binding 6  read        stats     (4) f32: norm, clip scale, non-finite flag, 0; flag set: nothing is written
//   binding 7  read_write  mirror    (ceil(count / 2)) u32 as MirrorValue: two halves each, the first in the low half
//   binding 8  uniform     Params
// Grid: ceil(blocks / 4), folded on x and y. Weights outside all tensors keep their bits.

@group(0) @binding(7) var<storage, read_write> mirror: array<MirrorValue>;
@group(0) @binding(8) var<uniform> params: Params;

fn write_mirror(first: u32, value: vec4<f32>, lanes: u32) {
  store_mirror(first / 4u, value, lanes);
}
