// The largest magnitude of a tensor, as the power of two by which a product rounded to f16 multiplies it.
#pragma once

#include "device/device.h"

#include <array>

namespace athanor::kernels {

struct MaxMagnitude {
  device::Buffer values;  // (count) f32
  device::Buffer scale;   // (2) f32, written: the power of two, and its inverse
  int64_t count = 0;
};

/// scale[0] = the power of two that puts the largest |value| into [2^14, 2^15), at most 2^126 and at least 2^-113; scale[1] = 1 / scale[0],
/// exactly. f16 ends at 65,504, so that the scaled values fit and the small ones keep as many digits as can be. Both are 1 when the
/// largest is zero, subnormal, infinite or NaN. Bits are compared, so no order of the values changes the result.
/// Throws Error if there are no values or a buffer's size is not as in MaxMagnitude.
void max_magnitude(device::Stream& stream, const MaxMagnitude& args);

/// What max_magnitude writes for values of which this is the largest magnitude; or for a bound of it, then without a look at them.
std::array<float, 2> scale_of_magnitude(float largest);

}  // namespace athanor::kernels
