// Four weights of the f16 mirror as two words, for a slab whose length is no multiple of four: the second word may not exist.
// Like mirror_4 otherwise.

alias MirrorValue = u32;

// The first `lanes` weights of number index * 4 on; the others keep their bits.
fn store_mirror(index: u32, value: vec4<f32>, lanes: u32) {
  let halves = four_halves(bitcast<vec4<u32>>(value));
  for (var word = 0u; word * 2u < lanes; word += 1u) {
    let mask = select(0xffffu, 0xffffffffu, word * 2u + 1u < lanes);
    let target_word = index * 2u + word;
    mirror[target_word] = (halves[word] & mask) | (mirror[target_word] & ~mask);
  }
}
