// Whether a kernel writes its result or adds it to what is there (gradient accumulation).
#pragma once

namespace athanor::kernels {

enum class Accumulate { No, Yes };

}  // namespace athanor::kernels
