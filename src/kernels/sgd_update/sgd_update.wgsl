// One step of SGD with momentum over a slab: g = clip scale * gradient + decay w, m = momentum m + g, w -= lr (g + momentum m with
// Nesterov's form, else m). Joined behind sgd_step. Source: torch.optim.SGD; Sutskever et al. 2013.
//   binding 0  read_write  weights   (count) f32 as Value
//   binding 1  read        gradients (count) f32 as Value
//   binding 2  read        blocks    (table_length) of weight decay (f32 bits) and number of elements, for each 64 elements of the slab
//   binding 3  read        stats     (4) f32: norm, clip scale, non-finite flag, 0; flag set: nothing is written
//   binding 4  read_write  m         (count) f32 as Value
//   binding 5  uniform     Params
// Grid: ceil(count in Values / 256), folded on x and y. Elements outside all tensors keep their bits.

@group(0) @binding(4) var<storage, read_write> m: array<Value>;
@group(0) @binding(5) var<uniform> params: Params;

const SMALLEST_NORMAL: f32 = 1.17549435e-38;

fn direction(index: u32, gradient: Value, lanes: u32) -> Value {
  let before = m[index];
  var m_next = params.momentum * before + gradient;
  // Below the normal range a device may flush or keep: always 0.
  m_next = select(m_next, Value(0.0), abs(m_next) < Value(SMALLEST_NORMAL));
  if (lanes == LANES) {
    m[index] = m_next;
  } else {
    m[index] = first_lanes(m_next, before, lanes);
  }
  return select(m_next, gradient + params.momentum * m_next, params.nesterov != 0u);
}
