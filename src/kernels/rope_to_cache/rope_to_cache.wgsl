// rope of new tokens' queries and keys, with keys and values written behind the rows that the caches hold. A head's halves are rotated as in
// rope.wgsl; v is copied. One pair of Values a thread: vec4<f32> when D/2 is a multiple of four, else f32 (the launcher puts the alias in
// front). Source: Su et al. 2021, arXiv:2104.09864.
//   binding 0  read        q        (rows, H*D) as Value
//   binding 1  read        k        (rows, Hkv*D) as Value
//   binding 2  read        v        (rows, Hkv*D) as Value
//   binding 3  read        table    (positions, D) as Value: D/2 cosines, then D/2 sines
//   binding 4  read_write  rotated  (rows, H*D) as Value: q, rotated
//   binding 5  read_write  k_cache  (capacity, Hkv*D) as Value; rows from `position` on are written
//   binding 6  read_write  v_cache  (capacity, Hkv*D) as Value; likewise
//   binding 7  uniform     params   pairs, H, Hkv, D/2 in Values, position
// Grid: ceil(pairs of Values / 256), folded on x and y.

struct Params {
  pairs: u32,     // rows * (H + 2 Hkv) * D/2, in Values
  heads: u32,
  kv_heads: u32,
  half_dim: u32,  // D/2 in Values
  position: u32,  // of the first row
}

@group(0) @binding(0) var<storage, read> q: array<Value>;
@group(0) @binding(1) var<storage, read> k: array<Value>;
@group(0) @binding(2) var<storage, read> v: array<Value>;
@group(0) @binding(3) var<storage, read> table: array<Value>;
@group(0) @binding(4) var<storage, read_write> rotated: array<Value>;
@group(0) @binding(5) var<storage, read_write> k_cache: array<Value>;
@group(0) @binding(6) var<storage, read_write> v_cache: array<Value>;
@group(0) @binding(7) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let pair = (group.x + group.y * groups.x) * 256u + thread;
  if (pair >= params.pairs) {
    return;
  }
  let half = params.half_dim;
  let i = pair % half;
  let heads_of_row = params.heads + 2u * params.kv_heads;  // q's, then k's, then v's
  let row = pair / half / heads_of_row;
  let head = pair / half % heads_of_row;
  let cache_row = params.position + row;
  if (head >= params.heads + params.kv_heads) {
    let kv_head = head - params.heads - params.kv_heads;
    let from_v = (row * params.kv_heads + kv_head) * 2u * half + i;
    let to_v = (cache_row * params.kv_heads + kv_head) * 2u * half + i;
    v_cache[to_v] = v[from_v];
    v_cache[to_v + half] = v[from_v + half];
    return;
  }
  let angle = cache_row * 2u * half + i;
  let cosine = table[angle];
  let sine = table[angle + half];
  if (head < params.heads) {
    let at = (row * params.heads + head) * 2u * half + i;
    let first = q[at];
    let second = q[at + half];
    rotated[at] = first * cosine - second * sine;
    rotated[at + half] = second * cosine + first * sine;
    return;
  }
  let from_k = (row * params.kv_heads + head - params.heads) * 2u * half + i;
  let to_k = (cache_row * params.kv_heads + head - params.heads) * 2u * half + i;
  let first = k[from_k];
  let second = k[from_k + half];
  k_cache[to_k] = first * cosine - second * sine;
  k_cache[to_k + half] = second * cosine + first * sine;
}
