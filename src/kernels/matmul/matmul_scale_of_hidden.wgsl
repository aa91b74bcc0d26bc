// By what silu(GATE) * UP is multiplied before it is rounded to f16.
//
// |silu(gate) * up| is at most |gate| |up|, whose largest magnitudes times their scales lie below 2^15 each: the product of the scales
// times 2^-15 keeps it below 2^15. Neither counts for more than 2^63, and the product for no less than 2^-126, so that it is an f32 with
// an inverse.
fn x_scale() -> f32 {
  return max(min(gate_scales[0], 0x1p63) * 0x1p-15 * min(up_scales[0], 0x1p63), 0x1p-126);
}
