// out = x * scale where the mask keeps a value, else 0; the gradient is the same with d_out in the place of x. The mask is drawn from
// Philox4x32-10 (Salmon et al. 2011), as base/random.h: see dropout.h for the counter and the key. A thread has one block of four words, whose
// low halves are for the four values at q0, the high halves for those 256 values on. Joined behind dropout_quads_1 or dropout_quads_4;
// Value is vec4<f32> when C is a multiple of four, else f32.
//   binding 0  read        x       (rows, C) as Value
//   binding 1  read_write  out     (rows, C) as Value
//   binding 2  uniform     params  rows, C in Values, threads a row, first row, threshold, scale, step, layer, key
// Grid: ceil(rows * threads a row / 256), folded on x and y. Threads a row: with Q = ceil(C / 4), Q / 128 * 64 + min(Q % 128, 64).

struct Params {
  rows: u32,
  length: u32,       // of a row, in Values
  row_threads: u32,  // blocks of a row
  first_row: u32,
  threshold: u32,    // p * 2^32
  scale: f32,        // 1 / (1 - p)
  step: u32,
  layer: u32,
  key_low: u32,
  key_high: u32,
}

@group(0) @binding(0) var<storage, read> x: array<Value>;
@group(0) @binding(1) var<storage, read_write> out: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;

// The high 32 bits of a * b, in 16-bit parts: WGSL has no wider product.
fn high_product(a: u32, b: u32) -> u32 {
  let a_low = a & 0xffffu;
  let a_high = a >> 16u;
  let b_low = b & 0xffffu;
  let b_high = b >> 16u;
  let middle = a_high * b_low + ((a_low * b_low) >> 16u);
  let other = a_low * b_high + (middle & 0xffffu);
  return a_high * b_high + (middle >> 16u) + (other >> 16u);
}

fn philox(block: u32, row: u32) -> vec4<u32> {
  var words = vec4<u32>(block, row, params.step, params.layer);
  var key = vec2<u32>(params.key_low, params.key_high);
  for (var round = 0u; round < 10u; round += 1u) {
    words = vec4<u32>(high_product(words.z, 0xcd9e8d57u) ^ words.y ^ key.x, words.z * 0xcd9e8d57u,
                      high_product(words.x, 0xd2511f53u) ^ words.w ^ key.y, words.x * 0xd2511f53u);
    key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return words;
}

// shift: 0 for the words' low halves, 16 for the high ones.
fn kept(value: vec4<f32>, words: vec4<u32>, shift: u32, block: u32, row: u32) -> vec4<f32> {
  let numbers = (words >> vec4<u32>(shift)) & vec4<u32>(0xffffu);
  let top = vec4<u32>(params.threshold >> 16u);
  var keeps = numbers > top;
  if (any(numbers == top)) {
    let low = (philox(block | 0x80000000u, row) >> vec4<u32>(shift)) & vec4<u32>(0xffffu);
    keeps = keeps | ((numbers == top) & (low >= vec4<u32>(params.threshold & 0xffffu)));
  }
  return select(vec4<f32>(0.0), value * params.scale, keeps);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  let row = index / params.row_threads;
  if (row >= params.rows) {
    return;
  }
  let block = index - row * params.row_threads;
  let q = block / 64u * 128u + block % 64u;
  let start = row * params.length;
  let random_row = params.first_row + row;
  let words = philox(block, random_row);
  store_quad(start, q, kept(load_quad(start, q), words, 0u, block, random_row));
  if (has_quad(q + 64u)) {
    store_quad(start, q + 64u, kept(load_quad(start, q + 64u), words, 16u, block, random_row));
  }
}
