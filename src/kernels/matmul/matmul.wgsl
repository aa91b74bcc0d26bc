// Y[M,N] (+)= X[M,K] @ W[K,N], and with another load of X (silu(GATE) * UP)[M,K] @ W[K,N]. Both operands keep their layout in workgroup
// memory: x_tile[row][k / 4] as vectors along k, w_tile[k][column / 4] as vectors along the columns, so that four vectors of each make
// 64 multiplications. A thread has rows ty + 16 i (neighbours read other banks) and columns 4 tx to 4 tx + 3.

@compute @workgroup_size(16, 16, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let share = share_of(group.z, groups.z);
  let first_row = group.y * TILE;
  let first_column = group.x * TILE;
  let tx = thread % 16u;
  let ty = thread / 16u;
  let x_row = first_row + thread / 4u;
  let x_column = thread % 4u * 4u;
  let w_column = first_column + tx * 4u;

  var sum0 = vec4<f32>(0.0);
  var sum1 = vec4<f32>(0.0);
  var sum2 = vec4<f32>(0.0);
  var sum3 = vec4<f32>(0.0);
  x_tile[thread] = load_x(x_row, share.begin + x_column, params.x, params.z);
  w_tile[thread] = load_w(share.begin + ty, w_column, params.z, params.y);
  workgroupBarrier();
  var current = 0u;
  for (var k = share.begin; k < share.end; k += STEP) {
    let x_next = load_x(x_row, k + STEP + x_column, params.x, params.z);
    let w_next = load_w(k + STEP + ty, w_column, params.z, params.y);
    for (var i = 0u; i < 4u; i += 1u) {
      let x0 = x_tile[current + ty * 4u + i];
      let x1 = x_tile[current + ty * 4u + 64u + i];
      let x2 = x_tile[current + ty * 4u + 128u + i];
      let x3 = x_tile[current + ty * 4u + 192u + i];
      let w0 = w_tile[current + i * 64u + tx];
      let w1 = w_tile[current + i * 64u + 16u + tx];
      let w2 = w_tile[current + i * 64u + 32u + tx];
      let w3 = w_tile[current + i * 64u + 48u + tx];
      sum0 = fma(vec4<f32>(x0.w), w3, fma(vec4<f32>(x0.z), w2, fma(vec4<f32>(x0.y), w1, fma(vec4<f32>(x0.x), w0, sum0))));
      sum1 = fma(vec4<f32>(x1.w), w3, fma(vec4<f32>(x1.z), w2, fma(vec4<f32>(x1.y), w1, fma(vec4<f32>(x1.x), w0, sum1))));
      sum2 = fma(vec4<f32>(x2.w), w3, fma(vec4<f32>(x2.z), w2, fma(vec4<f32>(x2.y), w1, fma(vec4<f32>(x2.x), w0, sum2))));
      sum3 = fma(vec4<f32>(x3.w), w3, fma(vec4<f32>(x3.z), w2, fma(vec4<f32>(x3.y), w1, fma(vec4<f32>(x3.x), w0, sum3))));
    }
    current = BUFFER - current;
    x_tile[current + thread] = x_next;
    w_tile[current + thread] = w_next;
    workgroupBarrier();
  }
  store_four(share.start, first_row + ty, w_column, 1u, sum0);
  store_four(share.start, first_row + ty + 16u, w_column, 1u, sum1);
  store_four(share.start, first_row + ty + 32u, w_column, 1u, sum2);
  store_four(share.start, first_row + ty + 48u, w_column, 1u, sum3);
}
