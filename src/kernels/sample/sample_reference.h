// The plain loops in double precision that judge sample, and its cases.
#pragma once

#include "kernels/kernel_info.h"
#include "kernels/sample/sample.h"

#include <cstdint>
#include <span>
#include <vector>

namespace athanor::kernels {

/// A draw, and how far it was from having another result: rounding may decide otherwise within this part of the whole probability.
/// The places where it could are the ends of the token's own part, and a token that top-p, min-p or a penalty nearly kept or left out.
struct ReferenceDraw {
  uint32_t token = 0;
  double margin = 1;
};

/// One row; `row` counts from args.first_row. The buffers of args are not looked at.
ReferenceDraw sample_reference(const Sample& args, std::span<const float> logits, std::span<const uint32_t> previous,
                               int64_t row);

std::vector<KernelCase> sample_cases();

}  // namespace athanor::kernels
