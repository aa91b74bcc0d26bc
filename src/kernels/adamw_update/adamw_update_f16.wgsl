// adamw_update that also writes each new weight, rounded to the nearest half, into the mirror. Joined behind round_to_half, mirror_1 or
// mirror_4, and adamw_step.
//   binding 0  read_write  weights   (count) f32 as Value
//   binding 1  read        gradients (count) f32 as Value
//   binding 2  read_write  m         (count) f32 as Value
//   binding 3  read_write  v         (count) f32 as Value
//   binding 4  read        blocks    (table_length) of weight decay (f32 bits) and number of elements, for each 64 elements of the slab
//   binding 5  read        stats     (4) f32: norm, clip scale, non-finite flag, 0; flag set: nothing is written
//   binding 6  read_write  mirror    (ceil(count / 2)) u32 as MirrorValue: two halves each, the first in the low half
//   binding 7  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y. Elements outside all tensors keep their bits.

@group(0) @binding(6) var<storage, read_write> mirror: array<MirrorValue>;
@group(0) @binding(7) var<uniform> params: Params;
