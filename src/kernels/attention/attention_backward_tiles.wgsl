// Staging of d_out for the two tiled kernels of the backward. The statistics of a row are (log_sum_exp, delta), see
// attention_backward_delta.wgsl.

fn stage_d_out(slot: u32, b: u32, first: u32, head: u32, chunk: u32, thread: u32) {
  for (var n = thread; n < 256u; n += 64u) {
    let row = first + n / 8u;
    let d = chunk * 32u + n % 8u * 4u;
    var value = vec4<f32>(0.0);
    if (row < params.length && d < params.head_dim) {
      value = load_d_out(((b * params.length + row) * params.heads + head) * params.head_dim, d);
    }
    tile[slot * SLOT + n / 8u * LINE + n % 8u] = value;
  }
}
