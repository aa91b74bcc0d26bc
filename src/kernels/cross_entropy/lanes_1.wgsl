// A Value of one lane, for rows whose length is no multiple of four. Its pair is lanes_4; a row kernel is joined with one of them.

alias Value = f32;
const LANES: u32 = 1u;

fn largest_lane(value: Value) -> f32 {
  return value;
}

fn sum_of_lanes(value: Value) -> f32 {
  return value;
}

// 1 in the lane of index `lane`; nothing for an index of LANES or more.
fn unit_lane(lane: u32) -> Value {
  return select(0.0, 1.0, lane == 0u);
}

// The first `count` lanes of a, the others of b.
fn first_lanes(a: Value, b: Value, count: u32) -> Value {
  return select(b, a, count > 0u);
}
