// Y[M,N] = X[M,K] @ W[N,K]^T with quantised W. One workgroup of 16 x 16 threads computes a tile of 64 x 64 values of Y, each thread 4 x 4
// of them: rows ty + 16 i and columns tx + 16 j. A step takes one unit, 32 values, of 64 rows of W, unpacked on the way into workgroup
// memory, and the same places of 64 rows of X: 2 * 2048 floats are the 16,384 bytes that every adapter has. The next step's operands
// are on their way in registers while one is used. Eight vectors of a row are stored in an order that depends on the row, so that
// eight rows lie in different banks.
// Grid: ceil(N / 64) * ceil(M / 64) tiles counted row by row, folded on x and y. Out of range the last row is read again and nothing is
// written.

const TILE: u32 = 64u;

var<workgroup> x_tile: array<vec4<f32>, 512>;
var<workgroup> w_tile: array<vec4<f32>, 512>;

fn tile_place(row: u32, vector: u32) -> u32 {
  return row * 8u + (vector ^ (row & 7u));
}

fn store(row: u32, column: u32, value: f32) {
  if (row < params.rows && column < params.columns) {
    y[row * params.y_stride + params.y_column + column] = value;
  }
}

// Four values of a row of Y, 16 columns apart.
fn store_four(row: u32, column: u32, values: vec4<f32>) {
  store(row, column, values.x);
  store(row, column + 16u, values.y);
  store(row, column + 32u, values.z);
  store(row, column + 48u, values.w);
}

@compute @workgroup_size(16, 16, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let across = (params.columns + TILE - 1u) / TILE;
  let tile = group.x + group.y * groups.x;
  if (tile >= across * ((params.rows + TILE - 1u) / TILE)) {
    return;
  }
  let first_row = tile / across * TILE;
  let first_column = tile % across * TILE;
  let tx = thread % 16u;
  let ty = thread / 16u;
  // This thread fills two pieces of a row of each tile.
  let row = thread / 4u;
  let piece = thread % 4u * 2u;
  let x_start = min(first_row + row, params.rows - 1u) * (params.terms / 4u);
  let column = min(first_column + row, params.columns - 1u);
  let units = params.terms / 32u;

  var sum0 = vec4<f32>(0.0);
  var sum1 = vec4<f32>(0.0);
  var sum2 = vec4<f32>(0.0);
  var sum3 = vec4<f32>(0.0);
  var unit = load_unit(column, 0u);
  var x_a = x[x_start + place(0u, piece)];
  var x_b = x[x_start + place(0u, piece + 1u)];
  for (var index = 0u; index < units; index += 1u) {
    workgroupBarrier();
    x_tile[tile_place(row, piece)] = x_a;
    x_tile[tile_place(row, piece + 1u)] = x_b;
    w_tile[tile_place(row, piece)] = four(unit, piece);
    w_tile[tile_place(row, piece + 1u)] = four(unit, piece + 1u);
    workgroupBarrier();
    let next = min(index + 1u, units - 1u);
    unit = load_unit(column, next);
    x_a = x[x_start + place(next, piece)];
    x_b = x[x_start + place(next, piece + 1u)];
    for (var i = 0u; i < 8u; i += 1u) {
      let x0 = x_tile[tile_place(ty, i)];
      let x1 = x_tile[tile_place(ty + 16u, i)];
      let x2 = x_tile[tile_place(ty + 32u, i)];
      let x3 = x_tile[tile_place(ty + 48u, i)];
      let w0 = w_tile[tile_place(tx, i)];
      let w1 = w_tile[tile_place(tx + 16u, i)];
      let w2 = w_tile[tile_place(tx + 32u, i)];
      let w3 = w_tile[tile_place(tx + 48u, i)];
      let wx = vec4<f32>(w0.x, w1.x, w2.x, w3.x);
      let wy = vec4<f32>(w0.y, w1.y, w2.y, w3.y);
      let wz = vec4<f32>(w0.z, w1.z, w2.z, w3.z);
      let ww = vec4<f32>(w0.w, w1.w, w2.w, w3.w);
      sum0 = fma(vec4<f32>(x0.w), ww, fma(vec4<f32>(x0.z), wz, fma(vec4<f32>(x0.y), wy, fma(vec4<f32>(x0.x), wx, sum0))));
      sum1 = fma(vec4<f32>(x1.w), ww, fma(vec4<f32>(x1.z), wz, fma(vec4<f32>(x1.y), wy, fma(vec4<f32>(x1.x), wx, sum1))));
      sum2 = fma(vec4<f32>(x2.w), ww, fma(vec4<f32>(x2.z), wz, fma(vec4<f32>(x2.y), wy, fma(vec4<f32>(x2.x), wx, sum2))));
      sum3 = fma(vec4<f32>(x3.w), ww, fma(vec4<f32>(x3.z), wz, fma(vec4<f32>(x3.y), wy, fma(vec4<f32>(x3.x), wx, sum3))));
    }
  }
  store_four(first_row + ty, first_column + tx, sum0);
  store_four(first_row + ty + 16u, first_column + tx, sum1);
  store_four(first_row + ty + 32u, first_column + tx, sum2);
  store_four(first_row + ty + 48u, first_column + tx, sum3);
}
