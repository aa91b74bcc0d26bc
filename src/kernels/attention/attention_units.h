// Attention on the matrix units, in the precision medium.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/launch.h"

namespace athanor::kernels {

/// True when the call permits factors rounded to f16, the adapter has the units (matrix_units.h), the heads are at most 64 wide and whole
/// vectors, no soft cap is asked for, the halves fit a binding, and no user's file stands in. Sizes decide, never timing.
bool takes_matrix_units(Stream& stream, const Attention& args);
bool takes_matrix_units(Stream& stream, const AttentionBackward& args);

/// Measures what scales are not kept, rounds the operands, launches.
void attention_on_matrix_units(Stream& stream, const Attention& args, const device::KernelCost& cost);
void attention_backward_on_matrix_units(Stream& stream, const AttentionBackward& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
