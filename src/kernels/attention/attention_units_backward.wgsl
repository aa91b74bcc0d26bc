// What both passes of attention_backward share on the matrix units, behind attention_units_tiles.wgsl. The gradient of a row's weights is
// p * (d_out.v - delta); scaled as the operands are it is below 2^(30 + 7), and DOWN takes it to f16's range.

const DOWN: f32 = 0x1p-22;
const UP: f32 = 0x1p22;

// What takes the scales of q and k back and makes scores powers of two, and delta's of d_out and v.
struct Scales {
  score: f32,
  delta: vec2<f32>,
}

fn scales() -> Scales {
  return Scales(product_of_powers(inverses[0], inverses[1]) * (params.scale * LOG2_E),
                vec2<f32>(inverse(inverses[3]), inverse(inverses[2])));
}

// What a query row brings along: its log_sum_exp in powers of two, delta as scaled and brought down, and the first key that it sees.
struct Query {
  log_sum_exp: f32,
  delta: f32,
  lowest: u32,
}

fn query_at(b: u32, row: u32, head: u32, delta_scale: vec2<f32>) -> Query {
  let found = statistics[(b * params.length + min(row, params.length - 1u)) * params.heads + head];
  return Query(found.x * LOG2_E, found.y * delta_scale.x * delta_scale.y * DOWN, lowest_key(b, row));
}

// The weights of four staged scores. One whose score, far above its row's log_sum_exp, can only be wrong is held where f16 still ends in
// infinity.
fn weights_of(at: vec4<u32>, i: u32, back: f32, log_sum_exp: vec4<f32>) -> vec4<f32> {
  return exp2(min(fma(staged(at, i), vec4<f32>(back), -log_sum_exp), vec4<f32>(20.0)));
}

// The gradients of four weights, brought down, from the staged products of d_out and v.
fn slopes_of(at: vec4<u32>, i: u32, delta: vec4<f32>) -> vec4<f32> {
  return fma(staged(at, i), vec4<f32>(DOWN), -delta);
}
