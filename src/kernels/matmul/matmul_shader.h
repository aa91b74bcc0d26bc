// The text of every variant of the matrix products, joined from the folder's files.
#pragma once

#include "device/webgpu/webgpu_stream.h"
#include "kernels/matmul/matmul_plan.h"

namespace athanor::kernels {

/// One shader of the family. Sizes are not part of it: they travel in the uniform.
struct Variant {
  ProductKernel kernel;
  bool x_vectors = true;  // rows are whole vectors of four
  bool w_vectors = true;
  Strides strides;                                       // which operand's row length is params.w
  int64_t few_rows = 0;                                  // 1, 4 or 8: the kernel for so many rows; 0: tiles
  bool split_k = false;                                  // parts of the sums, one a z of the grid
  MatMulPrecision precision = MatMulPrecision::Highest;  // else on the matrix units
  bool panels = false;                                   // there: X is panels (matmul_panels.h)
  bool long_steps = false;                               // with panels: 128 terms a step
  bool wide = false;                                     // in f32: tiles of 128 x 128
  bool whole_tiles = false;  // on the units, and in wide tiles: rows and columns fill the tiles, terms the steps
};

/// A dispatch with kernel, variant, prelude and sources; bindings, params, grid and cost are still to come.
device::webgpu::Dispatch shader_of(const Variant& variant);

/// The same for the launch that makes the panels of a product's left operand.
device::webgpu::Dispatch panels_shader_of(const ProductKernel& kernel, MatMulPrecision precision);

}  // namespace athanor::kernels
