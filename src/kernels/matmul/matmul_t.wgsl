// Y[M,N] (+)= X[M,K] @ W[N,K]^T. Rows of both operands run along k, so both tiles hold vectors along k and the multiplications take the
// same component of four columns of W. A thread has rows ty + 16 i and columns tx + 16 j. Neighbouring threads read neighbouring rows
// of w_tile, 64 bytes apart: four vectors of a row are stored in an order that depends on the row, so that eight rows lie in different
// banks.

fn w_place(row: u32, vector: u32) -> u32 {
  return row * 4u + (vector ^ ((row >> 1u) & 3u));
}

@compute @workgroup_size(16, 16, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let share = share_of(group.z, groups.z);
  let first_row = group.y * TILE;
  let first_column = group.x * TILE;
  let tx = thread % 16u;
  let ty = thread / 16u;
  let row = thread / 4u;
  let vector = thread % 4u;

  var sum0 = vec4<f32>(0.0);
  var sum1 = vec4<f32>(0.0);
  var sum2 = vec4<f32>(0.0);
  var sum3 = vec4<f32>(0.0);
  x_tile[thread] = load_x(first_row + row, share.begin + vector * 4u, params.x, params.z);
  w_tile[w_place(row, vector)] = load_w(first_column + row, share.begin + vector * 4u, params.y, params.z);
  workgroupBarrier();
  var current = 0u;
  for (var k = share.begin; k < share.end; k += STEP) {
    let x_next = load_x(first_row + row, k + STEP + vector * 4u, params.x, params.z);
    let w_next = load_w(first_column + row, k + STEP + vector * 4u, params.y, params.z);
    for (var i = 0u; i < 4u; i += 1u) {
      let x0 = x_tile[current + ty * 4u + i];
      let x1 = x_tile[current + ty * 4u + 64u + i];
      let x2 = x_tile[current + ty * 4u + 128u + i];
      let x3 = x_tile[current + ty * 4u + 192u + i];
      let w0 = w_tile[current + w_place(tx, i)];
      let w1 = w_tile[current + w_place(tx + 16u, i)];
      let w2 = w_tile[current + w_place(tx + 32u, i)];
      let w3 = w_tile[current + w_place(tx + 48u, i)];
      let wx = vec4<f32>(w0.x, w1.x, w2.x, w3.x);
      let wy = vec4<f32>(w0.y, w1.y, w2.y, w3.y);
      let wz = vec4<f32>(w0.z, w1.z, w2.z, w3.z);
      let ww = vec4<f32>(w0.w, w1.w, w2.w, w3.w);
      sum0 = fma(vec4<f32>(x0.w), ww, fma(vec4<f32>(x0.z), wz, fma(vec4<f32>(x0.y), wy, fma(vec4<f32>(x0.x), wx, sum0))));
      sum1 = fma(vec4<f32>(x1.w), ww, fma(vec4<f32>(x1.z), wz, fma(vec4<f32>(x1.y), wy, fma(vec4<f32>(x1.x), wx, sum1))));
      sum2 = fma(vec4<f32>(x2.w), ww, fma(vec4<f32>(x2.z), wz, fma(vec4<f32>(x2.y), wy, fma(vec4<f32>(x2.x), wx, sum2))));
      sum3 = fma(vec4<f32>(x3.w), ww, fma(vec4<f32>(x3.z), wz, fma(vec4<f32>(x3.y), wy, fma(vec4<f32>(x3.x), wx, sum3))));
    }
    current = BUFFER - current;
    x_tile[current + thread] = x_next;
    w_tile[current + w_place(row, vector)] = w_next;
    workgroupBarrier();
  }
  store_four(share.start, first_row + ty, first_column + tx, 16u, sum0);
  store_four(share.start, first_row + ty + 16u, first_column + tx, 16u, sum1);
  store_four(share.start, first_row + ty + 32u, first_column + tx, 16u, sum2);
  store_four(share.start, first_row + ty + 48u, first_column + tx, 16u, sum3);
}
