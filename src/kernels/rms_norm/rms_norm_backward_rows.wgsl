// The backward of rms_norm and rms_norm_residual: with n = 1 / sqrt(mean(x^2) + eps) and g = d_out * (weight + offset) it writes
// d_x = n * g - x * n^3 * mean(g * x), plus the gradient that reaches x past the norm, and sums d_out * x * n over the workgroup's rows.
// d_out and x are read once where a row fits in registers. Joined behind lanes_1 or lanes_4 and row_tree with a kernel that declares the
// bindings d_out, weight, d_x, block_sums and params, row_value(index) and passing_gradient(index).

alias Part = vec2<f32>;  // sums of x^2 and of g * x

fn combine(a: Part, b: Part) -> Part {
  return a + b;
}

struct Params {
  rows: u32,
  length: u32,       // of a row, in Values
  row_threads: u32,  // threads that share a row: see row_tree
  steps: u32,        // rows that a thread has a part of, one after the other
  wanted: u32,       // WRITES_D_X, SUMS_WEIGHT, ADDS_D_Y
  eps: f32,
  weight_offset: f32,
}

const WRITES_D_X: u32 = 1u;
const SUMS_WEIGHT: u32 = 2u;
const ADDS_D_Y: u32 = 4u;
var<workgroup> column_sums: array<Value, THREADS>;

fn factor_of(i: u32) -> Value {
  return weight[i] + Value(params.weight_offset);
}

fn write_d_x(index: u32, value: Value, scaled_gradient: Value, inverse: f32, correction: f32) {
  if ((params.wanted & WRITES_D_X) != 0u) {
    d_x[index] = inverse * scaled_gradient - value * correction + passing_gradient(index);
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let block = group.x + group.y * groups.x;
  let side = THREADS / params.row_threads;  // rows side by side
  let first_row = block * side * params.steps;
  if (first_row >= params.rows) {
    return;
  }
  let seat = thread & (params.row_threads - 1u);
  let block_start = block * params.length;

  var weight_sums: array<Value, KEEP>;
  for (var step = 0u; step < params.steps; step += 1u) {
    let row = first_row + step * side + thread / params.row_threads;
    let start = row * params.length;
    let end = select(0u, params.length, row < params.rows);  // a row out of range has no Values, yet meets every barrier

    var values: array<Value, KEEP>;
    var gradients: array<Value, KEEP>;
    var squares = Value(0.0);
    var products = Value(0.0);
    for (var k = 0u; k < KEEP; k += 1u) {
      let i = seat + k * params.row_threads;
      if (i < end) {
        values[k] = row_value(start + i);
        gradients[k] = d_out[start + i];
        squares = fma(values[k], values[k], squares);
        products = fma(gradients[k] * factor_of(i), values[k], products);
      }
    }
    for (var i = seat + KEEP * params.row_threads; i < end; i += params.row_threads) {
      let value = row_value(start + i);
      squares = fma(value, value, squares);
      products = fma(d_out[start + i] * factor_of(i), value, products);
    }
    let sums = combine_over_row(vec2<f32>(sum_of_lanes(squares), sum_of_lanes(products)), thread, params.row_threads);
    let columns = f32(params.length * LANES);
    let inverse = inverseSqrt(sums.x / columns + params.eps);
    let correction = sums.y / columns * inverse * inverse * inverse;

    for (var k = 0u; k < KEEP; k += 1u) {
      let i = seat + k * params.row_threads;
      if (i < end) {
        weight_sums[k] += gradients[k] * values[k] * inverse;
        write_d_x(start + i, values[k], gradients[k] * factor_of(i), inverse, correction);
      }
    }
    // Of a row that is longer, one thread has the same columns in every row: its sums lie where the block's sum goes.
    for (var i = seat + KEEP * params.row_threads; i < end; i += params.row_threads) {
      let value = row_value(start + i);
      let gradient = d_out[start + i];
      write_d_x(start + i, value, gradient * factor_of(i), inverse, correction);
      if ((params.wanted & SUMS_WEIGHT) != 0u) {
        var sum = gradient * value * inverse;
        if (step > 0u) {
          sum += block_sums[block_start + i];
        }
        block_sums[block_start + i] = sum;
      }
    }
    workgroupBarrier();  // all have read the sums of this row
  }

  if ((params.wanted & SUMS_WEIGHT) == 0u) {
    return;
  }
  for (var k = 0u; k < KEEP; k += 1u) {
    column_sums[thread] = weight_sums[k];
    workgroupBarrier();
    let i = seat + k * params.row_threads;
    if (thread < params.row_threads && i < params.length) {
      var sum = column_sums[thread];
      for (var other = params.row_threads; other < THREADS; other += params.row_threads) {
        sum += column_sums[thread + other];
      }
      block_sums[block_start + i] = sum;
    }
    workgroupBarrier();
  }
}
