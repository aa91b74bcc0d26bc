// W as it is stored in f16, eight values a vector: one half a value already.
alias WValue = vec4<u32>;
const W_VALUES: u32 = 8u;  // of a vector
const W_SPLIT: bool = false;

fn put_two(place: u32, word: u32) {
  let halves = bitcast<vec2<f16>>(word);
  w_tile[place] = halves.x;
  w_tile[place + 1u] = halves.y;
}

fn put_w_values(place: u32, words: vec4<u32>, scale: f32) {
  put_two(place, words.x);
  put_two(place + 2u, words.y);
  put_two(place + 4u, words.z);
  put_two(place + 6u, words.w);
}
