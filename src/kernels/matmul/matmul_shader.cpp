// Joins a variant: constants, bindings, a load of X, a load of W, the store, the tile and the kernel's own file.
#include "kernels/matmul/matmul_shader.h"

#include "kernels/wgsl/matmul.h"
#include "kernels/wgsl/matmul_at.h"
#include "kernels/wgsl/matmul_at_bindings.h"
#include "kernels/wgsl/matmul_at_swiglu_a_bindings.h"
#include "kernels/wgsl/matmul_at_swiglu_a_w16_bindings.h"
#include "kernels/wgsl/matmul_at_w16_bindings.h"
#include "kernels/wgsl/matmul_bindings.h"
#include "kernels/wgsl/matmul_few_rows.h"
#include "kernels/wgsl/matmul_hidden.h"
#include "kernels/wgsl/matmul_load_hidden_half_scalar.h"
#include "kernels/wgsl/matmul_load_hidden_half_vec4.h"
#include "kernels/wgsl/matmul_load_hidden_scalar.h"
#include "kernels/wgsl/matmul_load_hidden_vec4.h"
#include "kernels/wgsl/matmul_load_w_half_scalar.h"
#include "kernels/wgsl/matmul_load_w_half_vec4.h"
#include "kernels/wgsl/matmul_load_w_scalar.h"
#include "kernels/wgsl/matmul_load_w_vec4.h"
#include "kernels/wgsl/matmul_load_x_half_scalar.h"
#include "kernels/wgsl/matmul_load_x_half_vec4.h"
#include "kernels/wgsl/matmul_load_x_scalar.h"
#include "kernels/wgsl/matmul_load_x_vec4.h"
#include "kernels/wgsl/matmul_panels.h"
#include "kernels/wgsl/matmul_panels_bindings.h"
#include "kernels/wgsl/matmul_panels_end.h"
#include "kernels/wgsl/matmul_panels_make.h"
#include "kernels/wgsl/matmul_panels_of_hidden_bindings.h"
#include "kernels/wgsl/matmul_panels_of_x_bindings.h"
#include "kernels/wgsl/matmul_panels_put_w.h"
#include "kernels/wgsl/matmul_panels_put_w_half.h"
#include "kernels/wgsl/matmul_panels_terms.h"
#include "kernels/wgsl/matmul_panels_w16_bindings.h"
#include "kernels/wgsl/matmul_scale_of_halves.h"
#include "kernels/wgsl/matmul_scale_of_hidden.h"
#include "kernels/wgsl/matmul_scale_of_w.h"
#include "kernels/wgsl/matmul_scale_of_x.h"
#include "kernels/wgsl/matmul_split_k.h"
#include "kernels/wgsl/matmul_store.h"
#include "kernels/wgsl/matmul_store_four.h"
#include "kernels/wgsl/matmul_swiglu_a_bindings.h"
#include "kernels/wgsl/matmul_swiglu_a_w16_bindings.h"
#include "kernels/wgsl/matmul_t.h"
#include "kernels/wgsl/matmul_t_bindings.h"
#include "kernels/wgsl/matmul_t_few_rows.h"
#include "kernels/wgsl/matmul_t_w16_bindings.h"
#include "kernels/wgsl/matmul_tile.h"
#include "kernels/wgsl/matmul_units.h"
#include "kernels/wgsl/matmul_units_bindings.h"
#include "kernels/wgsl/matmul_units_swiglu_bindings.h"
#include "kernels/wgsl/matmul_units_swiglu_w16_bindings.h"
#include "kernels/wgsl/matmul_units_w16_bindings.h"
#include "kernels/wgsl/matmul_upper_half.h"
#include "kernels/wgsl/matmul_w16_bindings.h"
#include "kernels/wgsl/matmul_whole_load_hidden.h"
#include "kernels/wgsl/matmul_whole_load_w.h"
#include "kernels/wgsl/matmul_whole_load_w_half.h"
#include "kernels/wgsl/matmul_whole_load_x.h"
#include "kernels/wgsl/matmul_whole_sums.h"
#include "kernels/wgsl/matmul_wide.h"

#include <fmt/format.h>

namespace athanor::kernels {

using device::webgpu::ShaderSource;

namespace {

const ShaderSource* bindings_of(const ProductKernel& kernel) {
  const bool half = kernel.dtype == DType::F16;
  switch (kernel.product) {
    case Product::Plain:
      return half ? &matmul_w16_bindings_wgsl : &matmul_bindings_wgsl;
    case Product::T:
      return half ? &matmul_t_w16_bindings_wgsl : &matmul_t_bindings_wgsl;
    case Product::At:
      return half ? &matmul_at_w16_bindings_wgsl : &matmul_at_bindings_wgsl;
    case Product::Swiglu:
      return half ? &matmul_swiglu_a_w16_bindings_wgsl : &matmul_swiglu_a_bindings_wgsl;
    case Product::AtSwiglu:
      break;
  }
  return half ? &matmul_at_swiglu_a_w16_bindings_wgsl : &matmul_at_swiglu_a_bindings_wgsl;
}

const ShaderSource* load_x_of(const Variant& variant) {
  const bool vectors = variant.x_vectors;
  const bool half = x_type(variant.kernel) == DType::F16;
  if (is_swiglu(variant.kernel.product)) {
    if (half) return vectors ? &matmul_load_hidden_half_vec4_wgsl : &matmul_load_hidden_half_scalar_wgsl;
    return vectors ? &matmul_load_hidden_vec4_wgsl : &matmul_load_hidden_scalar_wgsl;
  }
  if (half) return vectors ? &matmul_load_x_half_vec4_wgsl : &matmul_load_x_half_scalar_wgsl;
  return vectors ? &matmul_load_x_vec4_wgsl : &matmul_load_x_scalar_wgsl;
}

const ShaderSource* load_w_of(const Variant& variant) {
  const bool vectors = variant.w_vectors;
  if (w_type(variant.kernel) == DType::F16) {
    return vectors ? &matmul_load_w_half_vec4_wgsl : &matmul_load_w_half_scalar_wgsl;
  }
  return vectors ? &matmul_load_w_vec4_wgsl : &matmul_load_w_scalar_wgsl;
}

const ShaderSource* body_of(const Variant& variant) {
  const Product product = variant.kernel.product;
  if (variant.few_rows > 0) return product == Product::T ? &matmul_t_few_rows_wgsl : &matmul_few_rows_wgsl;
  if (is_at(product)) return &matmul_at_wgsl;
  return product == Product::T ? &matmul_t_wgsl : &matmul_wgsl;
}

/// Constants of a variant. Rows as long as the matrix is wide have a word of params for their length already.
std::string prelude_of(const Variant& variant) {
  constexpr int kDistance = 3;
  const Product product = variant.kernel.product;
  const Strides& strides = variant.strides;
  const int x_word = strides.x ? kDistance : (is_at(product) ? 0 : 2);
  const int w_word = strides.w ? kDistance : (product == Product::T ? 2 : 1);
  const int y_word = strides.y ? kDistance : 1;
  // With parts it is their sum that is added.
  const bool accumulate = variant.kernel.accumulate == Accumulate::Yes && !variant.split_k;
  std::string lines = fmt::format("const ACCUMULATE: bool = {};  // add to Y\n", accumulate);
  lines += fmt::format("const X_STRIDE: u32 = {}u;  // params[X_STRIDE]: values from a row of X to the next\n", x_word);
  lines += fmt::format("const W_STRIDE: u32 = {}u;\nconst Y_STRIDE: u32 = {}u;\n", w_word, y_word);
  if (variant.few_rows > 0) {
    lines += fmt::format("const ROWS: u32 = {}u;\nconst SLICES: u32 = {}u;\n", variant.few_rows,
                         variant.few_rows == 8 ? 16 : 32);
  }
  return lines;
}

/// How the operands lie: in the kernels that have one text for all products.
std::string order_of_operands(Product product) {
  return fmt::format("const X_ALONG: bool = {};  // rows of X and W lie along the sum\nconst W_ALONG: bool = {};\n",
                     !is_at(product), product == Product::T);
}

std::string whole_tiles_line(bool whole) {
  return fmt::format("const WHOLE_TILES: bool = {};  // nothing lies outside\n", whole);
}

/// Terms that a workgroup has in its workgroup memory at a time.
int step_of(const Variant& variant) {
  if (variant.long_steps) return 128;
  return (variant.precision == MatMulPrecision::High ? 16 : 32) * (variant.panels ? 2 : 1);
}

/// Constants of a variant on the matrix units.
std::string units_prelude_of(const Variant& variant) {
  const bool split = variant.precision == MatMulPrecision::High;
  std::string lines = prelude_of(variant);
  lines += fmt::format("const SPLIT: bool = {};  // factors in two halves\n", split);
  lines += fmt::format("const STEP: u32 = {}u;  // terms\n", step_of(variant));
  lines += order_of_operands(variant.kernel.product);
  lines += whole_tiles_line(variant.whole_tiles);
  return lines;
}

/// "portable", or what differs from it: "few_rows_4_scalar_w", "split_k", "strided_x".
std::string variant_name(const Variant& variant) {
  std::string name;
  const auto add = [&](std::string_view word) { name += name.empty() ? word : fmt::format("_{}", word); };
  if (variant.precision != MatMulPrecision::Highest) {
    add(name_of(variant.precision));
    if (variant.panels) add("panels");
    if (variant.long_steps) add("long_steps");
    if (!variant.panels && !variant.whole_tiles) add("edges");
  }
  if (variant.few_rows > 0) add(fmt::format("few_rows_{}", variant.few_rows));
  if (variant.wide) add(variant.whole_tiles ? "wide" : "wide_edges");
  if (variant.split_k) add("split_k");
  if (variant.strides.distance > 0) add("strided");
  if (variant.strides.x) add("x");
  if (variant.strides.w) add("w");
  if (variant.strides.y) add("y");
  if (!variant.x_vectors || !variant.w_vectors) add("scalar");
  if (variant.x_vectors && !variant.w_vectors) add("w");
  if (!variant.x_vectors && variant.w_vectors) add("x");
  // Later terms of a product whose kernel has no _acc.
  if (variant.kernel.product == Product::Swiglu && variant.kernel.accumulate == Accumulate::Yes) add("acc");
  return name.empty() ? "portable" : name;
}

/// Loads of f32 that look at no place where all tiles are whole.
const ShaderSource* whole_load_x(bool swiglu) {
  return swiglu ? &matmul_whole_load_hidden_wgsl : &matmul_whole_load_x_wgsl;
}
const ShaderSource* whole_load_w(bool halves) {
  return halves ? &matmul_whole_load_w_half_wgsl : &matmul_whole_load_w_wgsl;
}

const ShaderSource* share_of(const Variant& variant) {
  return variant.split_k ? &matmul_split_k_wgsl : &matmul_whole_sums_wgsl;
}

const ShaderSource* scale_of_w(bool halves) { return halves ? &matmul_scale_of_halves_wgsl : &matmul_scale_of_w_wgsl; }

/// A load of X, or of the hidden matrix, in f32, and its scale.
void add_x_of_units(device::webgpu::Dispatch& dispatch, bool swiglu) {
  if (swiglu) dispatch.sources.push_back(&matmul_hidden_wgsl);
  dispatch.sources.push_back(swiglu ? &matmul_scale_of_hidden_wgsl : &matmul_scale_of_x_wgsl);
  dispatch.sources.push_back(whole_load_x(swiglu));
}

/// Kernel and variant, and what its text begins with.
device::webgpu::Dispatch named(const Variant& variant, std::string prelude) {
  device::webgpu::Dispatch dispatch;
  dispatch.kernel = name_of(variant.kernel);
  dispatch.variant = variant_name(variant);
  dispatch.prelude = std::move(prelude);
  return dispatch;
}

device::webgpu::Dispatch units_shader_of(const Variant& variant) {
  const bool swiglu = is_swiglu(variant.kernel.product);
  const bool w16 = w_type(variant.kernel) == DType::F16;
  device::webgpu::Dispatch dispatch = named(variant, units_prelude_of(variant));
  dispatch.needs_f16 = true;
  dispatch.needs_subgroups = true;
  dispatch.needs_subgroup_matrix = true;
  if (variant.panels) {
    const bool twice = variant.precision == MatMulPrecision::High;
    dispatch.prelude += fmt::format("const W_BUFFERS: u32 = {}u;  // how often W's tile is there\n", twice ? 2 : 1);
    dispatch.sources = {w16 ? &matmul_panels_w16_bindings_wgsl : &matmul_panels_bindings_wgsl,
                        scale_of_w(w16),
                        &matmul_upper_half_wgsl,
                        w16 ? &matmul_panels_put_w_half_wgsl : &matmul_panels_put_w_wgsl,
                        share_of(variant),
                        &matmul_panels_wgsl};
    for (int terms = 0; terms < step_of(variant); terms += 16) dispatch.sources.push_back(&matmul_panels_terms_wgsl);
    dispatch.sources.push_back(&matmul_panels_end_wgsl);
    return dispatch;
  }
  if (swiglu) {
    dispatch.sources = {w16 ? &matmul_units_swiglu_w16_bindings_wgsl : &matmul_units_swiglu_bindings_wgsl};
  } else {
    dispatch.sources = {w16 ? &matmul_units_w16_bindings_wgsl : &matmul_units_bindings_wgsl};
  }
  add_x_of_units(dispatch, swiglu);
  for (const ShaderSource* source : {scale_of_w(w16), whole_load_w(w16), &matmul_store_wgsl, share_of(variant),
                                     &matmul_upper_half_wgsl, &matmul_units_wgsl})
    dispatch.sources.push_back(source);
  return dispatch;
}

/// f32 in tiles of 128 x 128.
device::webgpu::Dispatch wide_shader_of(const Variant& variant) {
  const bool swiglu = is_swiglu(variant.kernel.product);
  const bool x16 = x_type(variant.kernel) == DType::F16;
  const bool w16 = w_type(variant.kernel) == DType::F16;
  device::webgpu::Dispatch dispatch = named(variant, prelude_of(variant));
  dispatch.prelude += order_of_operands(variant.kernel.product) + whole_tiles_line(variant.whole_tiles);
  // The other load of X names its type itself.
  if (!x16) dispatch.prelude += "alias XValue = vec4<f32>;\n";
  dispatch.prelude += fmt::format("alias WValue = {};\n", w16 ? "vec2<u32>" : "vec4<f32>");
  dispatch.sources = {bindings_of(variant.kernel)};
  if (swiglu) dispatch.sources.push_back(&matmul_hidden_wgsl);
  for (const ShaderSource* source : {x16 ? load_x_of(variant) : whole_load_x(swiglu), whole_load_w(w16),
                                     &matmul_store_wgsl, &matmul_store_four_wgsl, share_of(variant), &matmul_wide_wgsl})
    dispatch.sources.push_back(source);
  return dispatch;
}

}  // namespace

device::webgpu::Dispatch shader_of(const Variant& variant) {
  if (variant.precision != MatMulPrecision::Highest) return units_shader_of(variant);
  if (variant.wide) return wide_shader_of(variant);
  device::webgpu::Dispatch dispatch = named(variant, prelude_of(variant));
  dispatch.sources = {bindings_of(variant.kernel)};
  if (is_swiglu(variant.kernel.product)) dispatch.sources.push_back(&matmul_hidden_wgsl);
  dispatch.sources.push_back(load_x_of(variant));
  dispatch.sources.push_back(load_w_of(variant));
  dispatch.sources.push_back(&matmul_store_wgsl);
  if (variant.few_rows == 0) {
    for (const ShaderSource* source : {&matmul_store_four_wgsl, &matmul_tile_wgsl, share_of(variant)})
      dispatch.sources.push_back(source);
  }
  dispatch.sources.push_back(body_of(variant));
  return dispatch;
}

device::webgpu::Dispatch panels_shader_of(const ProductKernel& kernel, MatMulPrecision precision) {
  device::webgpu::Dispatch dispatch;
  dispatch.kernel = name_of(kernel);
  dispatch.pass = "panels";
  dispatch.variant = name_of(precision);
  dispatch.needs_f16 = true;
  dispatch.prelude =
      fmt::format("const SPLIT: bool = {};  // factors in two halves\n", precision == MatMulPrecision::High);
  dispatch.prelude += order_of_operands(kernel.product);
  dispatch.prelude +=
      fmt::format("const X_STRIDE: u32 = {}u;  // params[X_STRIDE]: values from a row of X to the next\n",
                  is_at(kernel.product) ? 0 : 2);
  dispatch.prelude += whole_tiles_line(true);
  const bool swiglu = is_swiglu(kernel.product);
  dispatch.sources = {swiglu ? &matmul_panels_of_hidden_bindings_wgsl : &matmul_panels_of_x_bindings_wgsl};
  add_x_of_units(dispatch, swiglu);
  dispatch.sources.push_back(&matmul_upper_half_wgsl);
  dispatch.sources.push_back(&matmul_panels_make_wgsl);
  return dispatch;
}

}  // namespace athanor::kernels
