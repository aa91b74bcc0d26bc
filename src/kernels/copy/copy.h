// Copy of a strided tensor of up to four dimensions.
#pragma once

#include "device/device.h"

#include <array>
#include <cstdint>

namespace athanor::kernels {

/// Elements are words of 32 bits, whatever they mean; two f16 in a word move as one.
struct Copy {
  device::Buffer source;
  device::Buffer out;  // not source
  std::array<int64_t, 4> sizes = {1, 1, 1,
                                  1};          // slowest dimension first; leave those in front at 1 for fewer than four
  std::array<int64_t, 4> source_strides = {};  // in elements, 0 or more; 0 repeats
  std::array<int64_t, 4> out_strides = {};     // in elements; no two elements at one place
  int64_t source_offset = 0;                   // in elements
  int64_t out_offset = 0;
};

/// out[out_offset + sum of index * out_stride] = source[source_offset + sum of index * source_stride] for every index; bits are kept, also
/// those of a NaN. Elements of out that no index names are left alone.
/// Throws Error if an element would lie outside its buffer, a stride is negative, or two elements of out could lie at one place: each stride
/// of out must pass over all that the smaller ones span.
void copy(device::Stream& stream, const Copy& args);

/// `count` elements in a row from the beginning of one buffer to the beginning of the other.
Copy contiguous_copy(const device::Buffer& source, const device::Buffer& out, int64_t count);

}  // namespace athanor::kernels
