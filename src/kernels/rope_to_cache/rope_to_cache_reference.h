// The cases of rope_to_cache. Its plain loops are that of rope and a copy.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

std::vector<KernelCase> rope_to_cache_cases();

}  // namespace athanor::kernels
