// A Value of four lanes, sixteen bytes in one load, for rows whose length is a multiple of four. Its pair is lanes_1.

alias Value = vec4<f32>;
const LANES: u32 = 4u;

fn largest_lane(value: Value) -> f32 {
  return max(max(value.x, value.y), max(value.z, value.w));
}

fn sum_of_lanes(value: Value) -> f32 {
  return (value.x + value.y) + (value.z + value.w);
}

// 1 in the lane of index `lane`; nothing for an index of LANES or more.
fn unit_lane(lane: u32) -> Value {
  return select(vec4<f32>(0.0), vec4<f32>(1.0), vec4<u32>(lane) == vec4<u32>(0u, 1u, 2u, 3u));
}

// The first `count` lanes of a, the others of b.
fn first_lanes(a: Value, b: Value, count: u32) -> Value {
  return select(b, a, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(count));
}
