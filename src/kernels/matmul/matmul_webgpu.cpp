// The matrix products through WebGPU: one launcher for the family, which cuts a call into pieces and gives each its variant.
#include "kernels/matmul/matmul_choices.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/matmul/matmul_shader.h"
#include "kernels/matrix_units.h"
#include "kernels/wgsl/matmul_sum_parts.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

constexpr int64_t kTile = 64;
constexpr int64_t kUnitsTile = 128;
constexpr int64_t kFewRowsColumns = 32;
constexpr int64_t kFewRowsColumnsT = 8;

/// The dispatch of one piece, but for its grid.
Dispatch dispatch_of(const Variant& variant, const ProductCall& call) {
  Dispatch dispatch = shader_of(variant);
  dispatch.bindings.push_back(read(call.x));
  if (call.up) dispatch.bindings.push_back(read(call.up));
  dispatch.bindings.push_back(read(call.w));
  dispatch.bindings.push_back(read_write(call.y));
  if (variant.precision != MatMulPrecision::Highest) {
    dispatch.bindings.push_back(read(call.scales.x));
    if (call.up) dispatch.bindings.push_back(read(call.scales.up));
    if (call.scales.w) dispatch.bindings.push_back(read(call.scales.w));
  }
  dispatch.params = {to_u32(call.size.rows, dispatch.kernel), to_u32(call.size.columns, dispatch.kernel),
                     to_u32(call.size.sum, dispatch.kernel), to_u32(variant.strides.distance, dispatch.kernel)};
  dispatch.cost = cost_of(call);
  return dispatch;
}

/// The kernel of a few rows is made for 1, 4 and 8 of them; rows that are not there load zeros.
void record_few_rows(WebGpuStream& stream, Variant variant, const ProductCall& call) {
  variant.few_rows = call.size.rows == 1 ? 1 : (call.size.rows <= 4 ? 4 : 8);
  const int64_t columns = call.kernel.product == Product::T ? kFewRowsColumnsT : kFewRowsColumns;
  Dispatch dispatch = dispatch_of(variant, call);
  dispatch.grid = stream.fold(ceil_div(call.size.columns, columns));
  stream.dispatch(dispatch);
}

int64_t tile_of(const Variant& variant) { return variant.precision == MatMulPrecision::Highest ? kTile : kUnitsTile; }

void record_tiles(WebGpuStream& stream, const Variant& variant, const ProductCall& call, int64_t parts) {
  const int64_t tile = tile_of(variant);
  Dispatch dispatch = dispatch_of(variant, call);
  dispatch.grid = {to_u32(ceil_div(call.size.columns, tile), dispatch.kernel),
                   to_u32(ceil_div(call.size.rows, tile), dispatch.kernel), to_u32(parts, dispatch.kernel)};
  stream.dispatch(dispatch);
}

/// partial_sums (parts, Y's values) added up, in order, into Y.
void record_sum_of_parts(WebGpuStream& stream, const ProductCall& call, const Buffer& partial_sums, int64_t parts) {
  const int64_t count = y_matrix(call.size).count();
  Dispatch dispatch;
  dispatch.kernel = name_of(call.kernel);
  dispatch.pass = "sum";
  dispatch.sources = {&matmul_sum_parts_wgsl};
  dispatch.bindings = {read(partial_sums), read_write(call.y)};
  dispatch.params = {to_u32(count, dispatch.kernel), to_u32(parts, dispatch.kernel),
                     call.kernel.accumulate == Accumulate::Yes ? 1U : 0U, 0};
  dispatch.grid = stream.fold(ceil_div(count, 256));
  dispatch.cost = {static_cast<double>(count * parts), 4.0 * static_cast<double>(count * (parts + 1))};
  stream.dispatch(dispatch);
}

/// Each part of the sums writes a Y of its own first.
void record_split_k(WebGpuStream& stream, Variant variant, const ProductCall& call, int64_t parts) {
  variant.split_k = true;
  ProductCall partial = call;
  partial.y = stream.device().allocate(parts * matrix_bytes(y_matrix(call.size), DType::F32), "matmul partial sums");
  record_tiles(stream, variant, partial, parts);
  record_sum_of_parts(stream, call, partial.y, parts);
}

void record_piece(WebGpuStream& stream, Variant variant, const ProductCall& call, Form form) {
  variant.kernel = call.kernel;
  if (form == Form::FewRows) return record_few_rows(stream, variant, call);
  const bool units = form == Form::MatrixUnits;
  if (units) {
    constexpr int64_t kStep = 32;
    variant.precision = call.precision;
    variant.whole_tiles =
        call.size.rows % kUnitsTile == 0 && call.size.columns % kUnitsTile == 0 && call.size.sum % kStep == 0;
  }
  int64_t parts = 1;
  if ((form == Form::Tiles || units) && !variant.strides.y) {
    const int64_t tile = tile_of(variant);
    const int64_t tiles = ceil_div(call.size.rows, tile) * ceil_div(call.size.columns, tile);
    const int64_t wanted = units ? parts_on_matrix_units(tiles, call.size.sum) : parts_of(tiles, call.size.sum);
    const int64_t rule = std::min<int64_t>(wanted, stream.limits().max_workgroups_per_dimension);
    parts = stream.choose({name_of(call.kernel), parts_choice(units ? call.precision : MatMulPrecision::Highest),
                           sizes_of(call.size), 1, std::max(rule, most_parts(call.size, limits_of(stream))), rule});
  }
  if (parts == 1) return record_tiles(stream, variant, call, 1);
  record_split_k(stream, variant, call, parts);
}

}  // namespace

SplitLimits limits_of(const WebGpuStream& stream) {
  const device::webgpu::Limits& limits = stream.limits();
  return {limits.max_binding_bytes, limits.max_workgroups_per_dimension};
}

void product_webgpu(WebGpuStream& stream, const ProductCall& call, const SplitLimits& limits) {
  const Product product = call.kernel.product;
  Variant variant;
  variant.x_vectors = x_matrix(product, call.size).columns % 4 == 0;
  variant.w_vectors = w_matrix(product, call.size).columns % 4 == 0;
  Form form = Form::Tiles;
  SplitLimits bounds = limits;
  if (call.scales.x) {
    form = Form::MatrixUnits;
    bounds.flops *= kMatrixUnitsSpeed;
  } else if (stream.keeps_portable(name_of(call.kernel))) {
    form = Form::PortableTiles;
  } else if (!is_at(product) && call.size.rows <= kFewRows) {
    form = Form::FewRows;
  }
  const Extents piece = piece_of(call.kernel, call.size, bounds, form);
  variant.strides = strides_of(call, piece, bounds);
  for (int64_t column = 0; column < call.size.columns; column += piece.columns) {
    for (int64_t row = 0; row < call.size.rows; row += piece.rows) {
      for (int64_t term = 0; term < call.size.sum; term += piece.sum) {
        record_piece(stream, variant, piece_at(call, {row, column, term}, piece), form);
      }
    }
  }
}

}  // namespace athanor::kernels
