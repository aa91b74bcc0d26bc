// Y[K,N] (+)= X[M,K]^T @ B[M,N], and with another load of X (silu(GATE) * UP)[M,K]^T @ B[M,N]. The sum runs down the columns of both
// operands. The loads still go along rows, so that neighbouring threads read neighbouring addresses instead of a stride of K:
// x_tile[m][k / 4] and w_tile[m][n / 4], and a vector of each makes 16 multiplications. A thread has rows 4 ty to 4 ty + 3 of Y and
// columns 4 tx to 4 tx + 3.

@compute @workgroup_size(16, 16, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let share = share_of(group.z, groups.z);
  let first_row = group.y * TILE;
  let first_column = group.x * TILE;
  let tx = thread % 16u;
  let ty = thread / 16u;
  let x_column = first_row + tx * 4u;
  let w_column = first_column + tx * 4u;

  var sum0 = vec4<f32>(0.0);
  var sum1 = vec4<f32>(0.0);
  var sum2 = vec4<f32>(0.0);
  var sum3 = vec4<f32>(0.0);
  x_tile[thread] = load_x(share.begin + ty, x_column, params.z, params.x);
  w_tile[thread] = load_w(share.begin + ty, w_column, params.z, params.y);
  workgroupBarrier();
  var current = 0u;
  for (var m = share.begin; m < share.end; m += STEP) {
    let x_next = load_x(m + STEP + ty, x_column, params.z, params.x);
    let w_next = load_w(m + STEP + ty, w_column, params.z, params.y);
    for (var i = 0u; i < STEP; i += 1u) {
      let left = x_tile[current + i * 16u + ty];
      let right = w_tile[current + i * 16u + tx];
      sum0 = fma(vec4<f32>(left.x), right, sum0);
      sum1 = fma(vec4<f32>(left.y), right, sum1);
      sum2 = fma(vec4<f32>(left.z), right, sum2);
      sum3 = fma(vec4<f32>(left.w), right, sum3);
    }
    current = BUFFER - current;
    x_tile[current + thread] = x_next;
    w_tile[current + thread] = w_next;
    workgroupBarrier();
  }
  let row = first_row + ty * 4u;
  store_four(share.start, row, w_column, 1u, sum0);
  store_four(share.start, row + 1u, w_column, 1u, sum1);
  store_four(share.start, row + 2u, w_column, 1u, sum2);
  store_four(share.start, row + 3u, w_column, 1u, sum3);
}
