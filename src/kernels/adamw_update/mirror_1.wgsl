// One weight of the f16 mirror, half a word, for a slab whose length is no multiple of four. Two threads write a word, each its own half
// by integer atomics, so that the result does not depend on their order. Its pair is mirror_4.

alias MirrorValue = atomic<u32>;

fn store_mirror(index: u32, value: f32, lanes: u32) {
  let shift = index % 2u * 16u;
  let half = half_bits(bitcast<u32>(value));
  atomicAnd(&mirror[index / 2u], ~(0xffffu << shift));
  atomicOr(&mirror[index / 2u], half << shift);
}
