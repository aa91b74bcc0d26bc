// statistics[row, head] = (log_sum_exp, delta), delta = d_out . out of the head's row: the mean of the weights' gradients.
// Joined behind lanes_1.wgsl, or lanes_4.wgsl where D is divisible by 4.
//   binding 0  read        out          (B*T, H*D) as Value
//   binding 1  read        d_out        (B*T, H*D) as Value
//   binding 2  read        log_sum_exp  (B*T, H) f32
//   binding 3  read_write  statistics   (B*T, H) vec2<f32>
//   binding 4  uniform     Params
// Eight rows of a head a workgroup of 64 threads, eight threads a row.
// Grid: ceil(B*T*H / 8), folded on x and y.

struct Params {
  rows: u32,   // B*T*H
  width: u32,  // D in Values
}

@group(0) @binding(0) var<storage, read> out: array<Value>;
@group(0) @binding(1) var<storage, read> d_out: array<Value>;
@group(0) @binding(2) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(3) var<storage, read_write> statistics: array<vec2<f32>>;
@group(0) @binding(4) var<uniform> params: Params;

var<workgroup> partial_sums: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let row = (group.x + group.y * groups.x) * 8u + thread / 8u;
  var sum = Value(0.0);
  if (row < params.rows) {
    for (var i = thread % 8u; i < params.width; i += 8u) {
      sum = fma(out[row * params.width + i], d_out[row * params.width + i], sum);
    }
  }
  partial_sums[thread] = sum_of_lanes(sum);
  workgroupBarrier();
  if (thread % 8u == 0u && row < params.rows) {
    var delta = 0.0;
    for (var i = 0u; i < 8u; i += 1u) {
      delta += partial_sums[thread + i];
    }
    statistics[row] = vec2<f32>(log_sum_exp[row], delta);
  }
}
