// What both passes of attention_backward share on the matrix units, behind attention_units_tiles.wgsl. The gradient of a row's weights is
// p * (d_out.v - delta); scaled as the operands are it is below 2^(30 + 7), and DOWN takes it to f16's range.

const DOWN: f32 = 0x1p-22;
const UP: f32 = 0x1p22;

// What takes the scales of q, k, v and d_out back, and delta's of d_out and v.
struct Scales {
  score: vec3<f32>,
  delta: vec2<f32>,
}

fn scales() -> Scales {
  return Scales(vec3<f32>(inverses[0], inverses[1], params.scale * LOG2_E),
                vec2<f32>(inverse(inverses[3]), inverse(inverses[2])));
}

// What a query row brings along: its log_sum_exp in powers of two, delta as scaled, and the first key that it sees.
struct Query {
  log_sum_exp: f32,
  delta: f32,
  lowest: u32,
}

fn query_at(b: u32, row: u32, head: u32, delta_scale: vec2<f32>) -> Query {
  let found = statistics[(b * params.length + min(row, params.length - 1u)) * params.heads + head];
  return Query(found.x * LOG2_E, found.y * delta_scale.x * delta_scale.y, lowest_key(b, row));
}

// A weight whose score, far above its row's log_sum_exp, can only be wrong is held where f16 still ends in infinity.
fn weight_of(score: vec4<f32>, log_sum_exp: vec4<f32>, visible: vec4<bool>) -> vec4<f32> {
  return select(vec4<f32>(0.0), exp2(min(score - log_sum_exp, vec4<f32>(20.0))), visible);
}
