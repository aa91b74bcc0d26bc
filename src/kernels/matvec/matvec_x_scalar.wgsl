// Four values of x, or of its factor, from a place divisible by four; zero from K on.
alias XValue = f32;

fn load_x(k: u32) -> vec4<f32> {
  let last = params.terms - 1u;
  let values = vec4<f32>(x[k], x[min(k + 1u, last)], x[min(k + 2u, last)], x[min(k + 3u, last)]);
  return select(vec4<f32>(0.0), values, vec4<u32>(k, k + 1u, k + 2u, k + 3u) <= vec4<u32>(last));
}

fn load_factor(k: u32) -> vec4<f32> {
  let last = params.terms - 1u;
  return vec4<f32>(factor[k], factor[min(k + 1u, last)], factor[min(k + 2u, last)], factor[min(k + 3u, last)]);
}
