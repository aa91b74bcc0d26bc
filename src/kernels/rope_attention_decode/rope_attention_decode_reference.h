// The cases of rope_attention_decode. Its plain loops are those of rope and of attention_decode.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

std::vector<KernelCase> rope_attention_decode_cases();

}  // namespace athanor::kernels
