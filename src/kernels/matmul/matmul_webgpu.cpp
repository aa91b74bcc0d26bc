// The matrix products through WebGPU: one launcher for the family, which cuts a call into pieces and gives each its variant.
#include "kernels/matmul/matmul_choices.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/matmul/matmul_panels.h"
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
constexpr int64_t kUnitsStep = 32;
constexpr int64_t kLongStep = 128;
constexpr int64_t kWideTile = 128;
constexpr int64_t kWideStep = 8;
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

/// Rows and columns of Y that one workgroup computes.
Matrix tile_of(const Variant& variant) {
  if (variant.panels) return {kPanelTileRows, kPanelTileColumns};
  const int64_t edge = variant.wide ? kWideTile : (variant.precision == MatMulPrecision::Highest ? kTile : kUnitsTile);
  return {edge, edge};
}

/// How many tiles Y has.
Matrix tiles_of(const Variant& variant, const Extents& size) {
  const Matrix tile = tile_of(variant);
  return {ceil_div(size.rows, tile.rows), ceil_div(size.columns, tile.columns)};
}

void record_tiles(WebGpuStream& stream, const Variant& variant, const ProductCall& call, int64_t parts) {
  const Matrix tiles = tiles_of(variant, call.size);
  Dispatch dispatch = dispatch_of(variant, call);
  dispatch.grid = {to_u32(tiles.columns, dispatch.kernel), to_u32(tiles.rows, dispatch.kernel),
                   to_u32(parts, dispatch.kernel)};
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

/// The tiles of a piece, or parts of their sums.
void record_sums(WebGpuStream& stream, const Variant& variant, const ProductCall& call, const SplitLimits& limits) {
  int64_t parts = 1;
  if (!variant.strides.y) {
    const bool units = variant.precision != MatMulPrecision::Highest;
    const int64_t tiles = tiles_of(variant, call.size).count();
    const int64_t wanted = units ? parts_on_matrix_units(tiles, call.size.sum) : parts_of(tiles, call.size.sum);
    const int64_t rule = std::min<int64_t>(wanted, stream.limits().max_workgroups_per_dimension);
    parts = stream.choose({name_of(call.kernel), parts_choice(variant.precision), sizes_of(call.size), 1,
                           std::max(rule, most_parts(call.size, limits)), rule});
  }
  if (parts == 1) return record_tiles(stream, variant, call, 1);
  record_split_k(stream, variant, call, parts);
}

/// Whether a piece is computed in tiles of 128 x 128. The rule: where there are so many of them, or parts of their sums, that they keep an
/// adapter as busy as the smaller ones do.
bool takes_wide_tiles(WebGpuStream& stream, const Variant& variant, const ProductCall& call,
                      const SplitLimits& limits) {
  if (!variant.x_vectors || !variant.w_vectors || variant.strides.y ||
      std::min(call.size.rows, call.size.columns) < kWideTile)
    return false;
  Variant wide = variant;
  wide.wide = true;
  const int64_t tiles = tiles_of(wide, call.size).count();
  const bool rule = limits.wide_tiles > 0 && tiles * parts_of(tiles, call.size.sum) >= limits.wide_tiles;
  return stream.choose({name_of(call.kernel), kTilesChoice, sizes_of(call.size), 0, 1, rule ? 1 : 0, kTilesAnswers}) ==
         1;
}

/// Whether the left operand of a piece on the matrix units is made ready as panels: where it can be.
bool takes_panels(WebGpuStream& stream, const Variant& variant, const ProductCall& call, const SplitLimits& limits) {
  return fits_panels(call, variant.strides, limits) &&
         stream.choose(
             {name_of(call.kernel), panels_choice(call.precision), sizes_of(call.size), 0, 1, 1, kPanelsAnswers}) == 1;
}

bool is_whole(const Extents& size, int64_t tile, int64_t step) {
  return size.rows % tile == 0 && size.columns % tile == 0 && size.sum % step == 0;
}

void record_piece(WebGpuStream& stream, Variant variant, const ProductCall& call, Form form,
                  const SplitLimits& limits) {
  variant.kernel = call.kernel;
  switch (form) {
    case Form::FewRows:
      return record_few_rows(stream, variant, call);
    case Form::PortableTiles:
      return record_tiles(stream, variant, call, 1);
    case Form::Tiles:
      variant.wide = takes_wide_tiles(stream, variant, call, limits);
      variant.whole_tiles = variant.wide && is_whole(call.size, kWideTile, kWideStep);
      return record_sums(stream, variant, call, limits);
    case Form::MatrixUnits:
      break;
  }
  variant.precision = call.precision;
  variant.whole_tiles = is_whole(call.size, kUnitsTile, kUnitsStep);
  variant.panels = takes_panels(stream, variant, call, limits);
  // Halves of W wait in half the registers on their way to workgroup memory.
  variant.long_steps = variant.panels && w_type(call.kernel) == DType::F16 &&
                       call.precision == MatMulPrecision::Medium && call.size.sum % kLongStep == 0;
  record_sums(stream, variant, variant.panels ? with_panels(stream, call) : call, limits);
}

/// How many workgroups of 128 threads with 128 sums each keep the adapter busy; 0 where those of 256 threads with 16 sums do better, as
/// far as known. NVIDIA's processors have 65,536 registers: an H200 runs 396 such workgroups at once, three on each of 132, and reached
/// 43 TFLOP/s instead of 34 (matmul_at_acc, 4096 x 4096 x 4096 in f32, 2026-11-30). Others are not measured.
int64_t busy_wide_tiles(WebGpuStream& stream) {
  return stream.device().info().name.find("NVIDIA") != std::string::npos ? 264 : 0;
}

}  // namespace

SplitLimits limits_of(WebGpuStream& stream) {
  const device::webgpu::Limits& limits = stream.limits();
  SplitLimits bounds{limits.max_binding_bytes, limits.max_workgroups_per_dimension};
  bounds.wide_tiles = busy_wide_tiles(stream);
  return bounds;
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
        record_piece(stream, variant, piece_at(call, {row, column, term}, piece), form, limits);
      }
    }
  }
}

}  // namespace athanor::kernels
