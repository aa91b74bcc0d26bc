// What adamw_update and adamw_update_f16 share: one Value a thread, four elements when the slab's length is a multiple of four, else
// one. The bindings stand in the heads of those two, which say what else is written. Joined behind lanes_1 or lanes_4 and
// segment_lanes. Source: Loshchilov and Hutter 2019, arXiv:1711.05101.

struct Params {
  count: u32,  // in Values
  table_length: u32,
  lr: f32,
  beta1: f32,
  beta2: f32,
  one_minus_beta1: f32,
  one_minus_beta2: f32,
  eps: f32,
  bias_correction1: f32,
  bias_correction2: f32,
}

@group(0) @binding(0) var<storage, read_write> weights: array<Value>;
@group(0) @binding(1) var<storage, read> gradients: array<Value>;
@group(0) @binding(2) var<storage, read_write> m: array<Value>;
@group(0) @binding(3) var<storage, read_write> v: array<Value>;
@group(0) @binding(4) var<storage, read> blocks: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> stats: array<f32>;

const SMALLEST_NORMAL: f32 = 1.17549435e-38;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count || stats[2] != 0.0) {
    return;
  }
  let segment = segment_of(index, params.table_length);
  let lanes = segment.y;
  if (lanes == 0u) {
    return;
  }
  let w = weights[index];
  let gradient = gradients[index] * stats[1];
  var m_next = params.beta1 * m[index] + params.one_minus_beta1 * gradient;
  var v_next = params.beta2 * v[index] + params.one_minus_beta2 * gradient * gradient;
  // Below the normal range a device may flush or keep: always 0.
  m_next = select(m_next, Value(0.0), abs(m_next) < Value(SMALLEST_NORMAL));
  v_next = select(v_next, Value(0.0), v_next < Value(SMALLEST_NORMAL));
  let kept = w * (1.0 - params.lr * bitcast<f32>(segment.x));
  let w_next = kept - params.lr * (m_next / params.bias_correction1) / (sqrt(v_next / params.bias_correction2) + params.eps);
  if (lanes == LANES) {
    weights[index] = w_next;
    m[index] = m_next;
    v[index] = v_next;
  } else {
    weights[index] = first_lanes(w_next, w, lanes);
    m[index] = first_lanes(m_next, m[index], lanes);
    v[index] = first_lanes(v_next, v[index], lanes);
  }
  store_mirror(index, w_next, lanes);
}
