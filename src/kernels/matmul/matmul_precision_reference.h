// Matrix products with rounded factors, as plain loops: what MatMulPrecision::High and Medium compute on matrix units. They show what
// the scaling and the split are for, and judge the variants that do it on a device.
#pragma once

#include "kernels/matmul/matmul_precision.h"

#include <cstdint>
#include <span>
#include <vector>

namespace athanor::kernels {

enum class Scaling { PowerOfTwo, None };

/// The power of two that puts the largest magnitude into [2^14, 2^15), under f16's largest value of 65,504; within 2^-126 and 2^126. 1 if
/// the largest is zero, subnormal or not finite.
float magnitude_scale(std::span<const float> values);

/// Y[M,N] = X[M,K] @ W[K,N]. Both operands are multiplied by their scale (Scaling::None: by 1), then rounded to f16 (Medium), or split
/// into hi + lo of f16 (High: hi hi' + hi lo' + lo hi'); sums in f32; the scales are divided out at the end. Highest: f32 throughout.
std::vector<float> matmul_precision_reference(const std::vector<float>& x, const std::vector<float>& w, int64_t m,
                                              int64_t n, int64_t k, MatMulPrecision precision,
                                              Scaling scaling = Scaling::PowerOfTwo);

}  // namespace athanor::kernels
