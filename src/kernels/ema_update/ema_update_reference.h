// The plain loop in double precision that judges ema_update, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// ema = decay ema + (1 - decay) weights, value by value.
void ema_update_reference(std::vector<double>& ema, const std::vector<double>& weights, double decay);

std::vector<KernelCase> ema_update_cases();

}  // namespace athanor::kernels
