// One value of gelu and its slope for the CPU kernels, in both forms; the same formulas as gelu_values.wgsl.
#pragma once

#include "device/cpu/simd.h"

namespace athanor::kernels {

/// gelu(x) = x * share, gelu'(x) = slope. A caller that uses one of them pays for that one.
struct GeluValue {
  float share;
  float slope;
};

// (1 + tanh(u)) / 2 is the sigmoid of 2 u, which needs no difference of near numbers. At +-9.5 it is 0 or 1 to 33 digits, so x is held
// there and no infinity arises. 1 - s is e * s, in which no digits cancel.
ATHANOR_INLINE GeluValue gelu_tanh_value(float x) {
  const float held = x < -9.5F ? -9.5F : (x > 9.5F ? 9.5F : x);
  const float square = held * held;
  const float e = device::cpu::exp_fast(-held * (1.5957691216F + 0.07135481628F * square));
  const float s = 1.0F / (1.0F + e);
  return {s, s + x * s * (e * s) * (1.5957691216F + 0.21406444884F * square)};
}

// The normal distribution below -a is e^(-a^2/2) * r(a) for a >= 0. The rational r is a minimax fit of the relative error on [0, 9], 2e-8
// with these coefficients (gelu_fit.py); all are positive, so that no digits cancel. From 13 on the density is nothing beside any x.
ATHANOR_INLINE GeluValue gelu_erf_value(float x) {
  const float size = std::fabs(x);
  const float a = size > 13.0F ? 13.0F : size;
  const float bell = device::cpu::exp_fast(-0.5F * a * a);
  const float above = 0.5F + a * (0.422350782F + a * (0.171647351F + a * (0.0367826366F + a * 0.00355789951F)));
  const float below =
      1.0F + a * (1.64258627F + a * (1.15388711F + a * (0.438911269F + a * (0.0922141892F + a * 0.00891800686F))));
  const float tail = bell * above / below;
  const float share = x < 0 ? tail : 1.0F - tail;
  return {share, share + x * bell * 0.3989422804F};
}

}  // namespace athanor::kernels
