// The neighbours of each lane of a Value of four lanes. Its pair is conv1d_join_1; a kernel is joined with one of them.

// Lane by lane the value before: the last lane of `before`, then all of `value` but its last.
fn join_before(before: Value, value: Value) -> Value {
  return vec4<f32>(before.w, value.xyz);
}

// Lane by lane the value after: all of `value` but its first lane, then the first of `after`.
fn join_after(value: Value, after: Value) -> Value {
  return vec4<f32>(value.yzw, after.x);
}
