// What all forms of adamw_8bit_update share: 64 threads a block of up to 256 elements of one tensor, four blocks a workgroup. Moments are
// decoded, moved and used in f32; the largest of the block, found by a tree, becomes the scale by which they are coded again. The
// bindings stand in the heads of adamw_8bit_update and adamw_8bit_update_f16.
// Joined behind adamw_8bit_vectors or adamw_8bit_scalars, and dynamic_code. Source: Dettmers et al. 2022, arXiv:2110.02861.

struct Params {
  block_count: u32,
  lr: f32,
  beta1: f32,
  beta2: f32,
  one_minus_beta1: f32,
  one_minus_beta2: f32,
  eps: f32,
  step: f32,                      // lr / bias_correction1
  inverse_root_correction2: f32,  // 1 / sqrt(bias_correction2)
}

@group(0) @binding(0) var<storage, read_write> weights: array<Weight>;
@group(0) @binding(1) var<storage, read> gradients: array<Weight>;
@group(0) @binding(2) var<storage, read_write> m_codes: array<u32>;
@group(0) @binding(3) var<storage, read_write> v_codes: array<u32>;
@group(0) @binding(4) var<storage, read_write> scales: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> table: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> stats: array<f32>;

const CODE_ROWS: u32 = 128u;  // of the table: 256 values of m's code, then of v's
const THREADS_OF_BLOCK: u32 = 64u;
const SMALLEST_NORMAL: f32 = 1.17549435e-38;

var<workgroup> code_values: array<f32, 512>;
var<workgroup> largest: array<vec2<f32>, 256>;  // |m| and v of each thread, then of each block

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  // What this thread needs is under way before the workgroup waits for the code's values.
  let place = thread % THREADS_OF_BLOCK;
  let block = (group.x + group.y * groups.x) * 4u + thread / THREADS_OF_BLOCK;
  var first = 0u;  // of this thread's elements
  var lanes = 0u;  // how many of them there are
  var weight_decay = 0.0;
  if (block < params.block_count && stats[2] == 0.0) {
    let entry = table[CODE_ROWS + block];
    first = entry.x + place * 4u;
    lanes = min(max(entry.y, place * 4u) - place * 4u, 4u);
    weight_decay = bitcast<f32>(entry.z);
  }
  var w = vec4<f32>(0.0);
  var gradient = vec4<f32>(0.0);
  var codes = vec2<u32>(0u);  // of m, of v
  var old_scales = vec2<f32>(0.0);
  if (lanes > 0u) {
    w = load_weights(first, lanes);
    gradient = load_gradients(first, lanes) * stats[1];
    codes = vec2<u32>(m_codes[first / 4u], v_codes[first / 4u]);
    old_scales = scales[block];
  }
  if (thread < CODE_ROWS) {
    let row = bitcast<vec4<f32>>(table[thread]);
    code_values[thread * 4u] = row.x;
    code_values[thread * 4u + 1u] = row.y;
    code_values[thread * 4u + 2u] = row.z;
    code_values[thread * 4u + 3u] = row.w;
  }
  workgroupBarrier();

  var m_next = vec4<f32>(0.0);
  var v_next = vec4<f32>(0.0);
  if (lanes > 0u) {
    m_next = params.beta1 * (decoded(codes.x, 0u) * old_scales.x) + params.one_minus_beta1 * gradient;
    v_next = params.beta2 * (decoded(codes.y, 256u) * old_scales.y) + params.one_minus_beta2 * gradient * gradient;
    // Below the normal range a device may flush or keep: always 0. Elements that are none have no moments.
    let is_there = vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(lanes);
    m_next = select(vec4<f32>(0.0), m_next, is_there & (abs(m_next) >= vec4<f32>(SMALLEST_NORMAL)));
    v_next = select(vec4<f32>(0.0), v_next, is_there & (v_next >= vec4<f32>(SMALLEST_NORMAL)));
    let root = sqrt(v_next) * params.inverse_root_correction2 + params.eps;
    let w_next = w * (1.0 - params.lr * weight_decay) - params.step * m_next / root;
    store_weights(first, w_next, lanes);
    write_mirror(first, w_next, lanes);
  }

  let m_size = abs(m_next);
  largest[thread] = vec2<f32>(max(max(m_size.x, m_size.y), max(m_size.z, m_size.w)),
                              max(max(v_next.x, v_next.y), max(v_next.z, v_next.w)));
  workgroupBarrier();
  for (var stride = THREADS_OF_BLOCK / 2u; stride > 0u; stride /= 2u) {
    if (place < stride) {
      largest[thread] = max(largest[thread], largest[thread + stride]);
    }
    workgroupBarrier();
  }
  if (lanes > 0u) {
    let new_scales = largest[thread - place];
    let inverse = select(vec2<f32>(0.0), 1.0 / new_scales, new_scales > vec2<f32>(0.0));
    m_codes[first / 4u] = packed(encoded_m(m_next * inverse.x));
    v_codes[first / 4u] = packed(encoded_v(v_next * inverse.y));
    if (place == 0u) {
      scales[block] = new_scales;
    }
  }
}
