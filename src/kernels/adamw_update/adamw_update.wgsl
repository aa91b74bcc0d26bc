// One AdamW step of a slab: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w -= lr decay w,
// w -= lr (m / bias_correction1) / (sqrt(v / bias_correction2) + eps), with g the gradient times the clip scale. One Value a thread: four
// elements when the slab's length is a multiple of four, else one (joined behind lanes_1 or lanes_4).
// Source: Loshchilov and Hutter 2019, arXiv:1711.05101.
//   binding 0  read_write  weights   (count) f32 as Value
//   binding 1  read        gradients (count) f32 as Value
//   binding 2  read_write  m         (count) f32 as Value
//   binding 3  read_write  v         (count) f32 as Value
//   binding 4  read        blocks    (table_length) of weight decay (f32 bits) and number of elements, for each 64 elements of the slab
//   binding 5  read        stats     (4) f32: norm, clip scale, non-finite flag, 0; flag set: nothing is written
//   binding 6  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y. Elements outside all tensors keep their bits.

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
@group(0) @binding(6) var<uniform> params: Params;

const BLOCK: u32 = 64u;  // elements
const SMALLEST_NORMAL: f32 = 1.17549435e-38;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  let first = index * LANES;
  let block = first / BLOCK;
  if (index >= params.count || block >= params.table_length || stats[2] != 0.0) {
    return;
  }
  let entry = blocks[block];
  let lanes = min(max(entry.y, first % BLOCK) - first % BLOCK, LANES);  // how many of this Value's lanes belong to a tensor
  if (lanes == 0u) {
    return;
  }
  let gradient = gradients[index] * stats[1];
  var m_next = params.beta1 * m[index] + params.one_minus_beta1 * gradient;
  var v_next = params.beta2 * v[index] + params.one_minus_beta2 * gradient * gradient;
  // Below the normal range a device may flush or keep: always 0.
  m_next = select(m_next, Value(0.0), abs(m_next) < Value(SMALLEST_NORMAL));
  v_next = select(v_next, Value(0.0), v_next < Value(SMALLEST_NORMAL));
  let kept = weights[index] * (1.0 - params.lr * bitcast<f32>(entry.x));
  let w_next = kept - params.lr * (m_next / params.bias_correction1) / (sqrt(v_next / params.bias_correction2) + params.eps);
  if (lanes == LANES) {
    weights[index] = w_next;
    m[index] = m_next;
    v[index] = v_next;
  } else {
    weights[index] = first_lanes(w_next, weights[index], lanes);
    m[index] = first_lanes(m_next, m[index], lanes);
    v[index] = first_lanes(v_next, v[index], lanes);
  }
}
