// The plain loop that judges copy, and its cases.
#pragma once

#include "kernels/copy/copy.h"
#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// out with the elements of source that args names put where it says; the buffers of args are not looked at.
std::vector<double> copy_reference(const std::vector<double>& source, std::vector<double> out, const Copy& args);

std::vector<KernelCase> copy_cases();

}  // namespace athanor::kernels
