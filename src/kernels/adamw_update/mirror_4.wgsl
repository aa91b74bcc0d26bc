// Four weights of the f16 mirror, two words that one thread writes. Its pair is mirror_1. Joined behind round_to_half, in front of a
// kernel that binds `mirror`: array<MirrorValue>.

alias MirrorValue = vec2<u32>;

// The first `lanes` weights of number index * 4 on; the others keep their bits.
fn store_mirror(index: u32, value: vec4<f32>, lanes: u32) {
  let halves = four_halves(bitcast<vec4<u32>>(value));
  if (lanes == 4u) {
    mirror[index] = halves;
    return;
  }
  let low = select(vec2<u32>(0u), vec2<u32>(0xffffu), vec2<u32>(0u, 2u) < vec2<u32>(lanes));
  let high = select(vec2<u32>(0u), vec2<u32>(0xffff0000u), vec2<u32>(1u, 3u) < vec2<u32>(lanes));
  let mask = low | high;
  mirror[index] = (halves & mask) | (mirror[index] & ~mask);
}
