// W in f32: four values a vector, multiplied by the scale and rounded to f16 on the way into its tile; with SPLIT as two halves.
alias WValue = vec4<f32>;
const W_VALUES: u32 = 4u;  // of a vector
const W_SPLIT: bool = SPLIT;

fn put_four(place: u32, values: vec4<f32>) {
  let halves = vec4<f16>(values);
  w_tile[place] = halves.x;
  w_tile[place + 1u] = halves.y;
  w_tile[place + 2u] = halves.z;
  w_tile[place + 3u] = halves.w;
}

fn put_w_values(place: u32, values: vec4<f32>, scale: f32) {
  let scaled = values * scale;
  if (SPLIT) {
    let upper = upper_half(scaled);
    put_four(place, upper);
    put_four(place + W_SIZE, scaled - upper);
  } else {
    put_four(place, scaled);
  }
}
