// The plain loops that judge the casts: halves as numbers in double, rounded by their definition; and their cases.
#pragma once

#include "kernels/kernel_info.h"

#include <cstdint>
#include <vector>

namespace athanor::kernels {

/// The half nearest to the f32 with these bits, to even on a tie.
uint16_t fp32_to_fp16_reference(uint32_t bits);

/// The bits of the f32 that equals a half.
uint32_t fp16_to_fp32_reference(uint16_t half);

/// Two halves in each word; after an odd last one 0.
std::vector<uint32_t> packed_halves(const std::vector<uint16_t>& halves);

/// The words of a buffer, as they lie there.
std::vector<uint32_t> download_words(device::Stream& stream, const device::Buffer& buffer);

std::vector<KernelCase> fp32_to_fp16_cases();
std::vector<KernelCase> fp16_to_fp32_cases();

}  // namespace athanor::kernels
