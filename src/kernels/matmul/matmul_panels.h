// Products on the matrix units whose left operand is made ready beforehand: f16, in panels that the units read straight from memory.
#pragma once

#include "kernels/launch.h"
#include "kernels/matmul/matmul_plan.h"
#include "kernels/matmul/matmul_product.h"

namespace athanor::kernels {

/// A workgroup's part of Y: four subgroups, each with the 64 rows of a panel.
inline constexpr int64_t kPanelTileRows = 256;
inline constexpr int64_t kPanelTileColumns = 64;

/// True for a call that takes the matrix units (its scales are there) and whose rows, columns and terms are multiples of 64, at least 192
/// rows, operands that lie whole: then the panels, 2 bytes a value (4 for High), are worth their making.
bool fits_panels(const ProductCall& call, const Strides& strides, const SplitLimits& limits);

/// Makes the panels of X, or of the hidden matrix, and returns the call that reads them: x is the panels, scales.x what takes their
/// scale back, and there is no up.
ProductCall with_panels(device::webgpu::WebGpuStream& stream, const ProductCall& call);

}  // namespace athanor::kernels
