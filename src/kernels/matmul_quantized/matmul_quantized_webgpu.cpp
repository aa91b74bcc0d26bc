// The quantised products through WebGPU: the shader is joined from a format and a kernel, and the work is cut into dispatches.
#include "kernels/matmul_quantized/matmul_quantized_internal.h"
#include "kernels/matmul_quantized/weight_blocks.h"
#include "kernels/wgsl/affine_scale.h"
#include "kernels/wgsl/exact_half.h"
#include "kernels/wgsl/quantized_affine.h"
#include "kernels/wgsl/quantized_blocks.h"
#include "kernels/wgsl/quantized_few_rows.h"
#include "kernels/wgsl/quantized_tile.h"
#include "kernels/wgsl/quantized_unit.h"
#include "kernels/wgsl/unit_affine_4.h"
#include "kernels/wgsl/unit_affine_8.h"
#include "kernels/wgsl/unit_q4_0.h"
#include "kernels/wgsl/unit_q4_1.h"
#include "kernels/wgsl/unit_q4_k.h"
#include "kernels/wgsl/unit_q6_k.h"
#include "kernels/wgsl/unit_q8_0.h"

#include <algorithm>
#include <bit>

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::ShaderSource;
using device::webgpu::WebGpuStream;

namespace {

// A dispatch is at most this long: 0.2 s at 0.35 TFLOP/s, which integrated GPUs reach.
constexpr double kMostFlops = 7e10;
constexpr int64_t kTile = 64;
// Parts of X start at multiples of 64 rows and parts of W at multiples of 128, so that they start at multiples of 256 bytes: a row of X
// has whole vectors of 128 bytes, a row of blocks an even number of bytes, a row of groups whole scales of 2 bytes.
constexpr int64_t kRowsTogether = 64;
constexpr int64_t kColumnsTogether = 128;

const ShaderSource& unit_source(const MatMulQuantized& args) {
  switch (args.format) {
    case WeightFormat::Q8_0:
      return unit_q8_0_wgsl;
    case WeightFormat::Q6_K:
      return unit_q6_k_wgsl;
    case WeightFormat::Q4_0:
      return unit_q4_0_wgsl;
    case WeightFormat::Q4_1:
      return unit_q4_1_wgsl;
    case WeightFormat::Q4_K:
      return unit_q4_k_wgsl;
    case WeightFormat::Affine:
      break;
  }
  return args.layout.bits == 8 ? unit_affine_8_wgsl : unit_affine_4_wgsl;
}

/// Rows of X that a workgroup of the form for few rows has; 0: tiles.
int64_t few_rows_of(int64_t m) { return m > kFewQuantizedRows ? 0 : (m == 1 ? 1 : 4); }

int64_t lanes_of(int64_t few_rows) { return few_rows == 1 ? 32 : 16; }

int64_t groups_of(int64_t few_rows, int64_t m, int64_t n) {
  if (few_rows == 0) return ceil_div(n, kTile) * ceil_div(m, kTile);
  return ceil_div(n, 512 / lanes_of(few_rows)) * ceil_div(m, few_rows);
}

/// "portable" is MLX's groups in tiles; the others are named after their blocks and rows: "q4_k", "few_rows_1", "q4_k_few_rows_1".
std::string variant_of(const MatMulQuantized& args, int64_t few_rows) {
  std::string name = args.format == WeightFormat::Affine ? "" : weight_blocks(args.format).name;
  if (few_rows > 0) name += fmt::format("{}few_rows_{}", name.empty() ? "" : "_", few_rows);
  return name.empty() ? "portable" : name;
}

Dispatch shader_of(const char* name, const MatMulQuantized& args) {
  const bool affine = args.format == WeightFormat::Affine;
  const int64_t few_rows = few_rows_of(args.m);
  Dispatch dispatch;
  dispatch.kernel = name;
  dispatch.variant = variant_of(args, few_rows);
  if (few_rows > 0) {
    dispatch.prelude = fmt::format("const ROWS: u32 = {}u;\nconst LANES: u32 = {}u;\n", few_rows, lanes_of(few_rows));
  }
  dispatch.sources = {&exact_half_wgsl};
  if (affine) dispatch.sources.push_back(&affine_scale_wgsl);
  dispatch.sources.push_back(&quantized_unit_wgsl);
  dispatch.sources.push_back(affine ? &quantized_affine_wgsl : &quantized_blocks_wgsl);
  dispatch.sources.push_back(&unit_source(args));
  dispatch.sources.push_back(few_rows > 0 ? &quantized_few_rows_wgsl : &quantized_tile_wgsl);
  return dispatch;
}

/// A part of the product: `m` rows from `row` on, `n` columns from `column` on.
struct Part {
  int64_t row;
  int64_t m;
  int64_t column;
  int64_t n;
};

/// `n` rows of an operand of `bytes` for all of W's rows.
Buffer columns_of(const MatMulQuantized& args, const Buffer& buffer, const Part& part, int64_t bits_of_row) {
  if (part.n == args.n) return buffer;
  return buffer.slice(part.column * bits_of_row / 8, ceil_div(part.n * bits_of_row, 32) * 4);
}

void bind_operands(Dispatch& dispatch, const MatMulQuantized& args, const Part& part) {
  dispatch.bindings = {read(args.x.slice(part.row * args.k * 4, part.m * args.k * 4))};
  if (args.format == WeightFormat::Affine) {
    const int64_t scale_bits = args.k / args.layout.group * size_of(args.layout.scale_type) * 8;
    dispatch.bindings.push_back(read(columns_of(args, args.w, part, args.k * args.layout.bits)));
    dispatch.bindings.push_back(read(columns_of(args, args.scales, part, scale_bits)));
    dispatch.bindings.push_back(read(columns_of(args, args.biases, part, scale_bits)));
  } else {
    const WeightBlocks& blocks = weight_blocks(args.format);
    dispatch.bindings.push_back(read(columns_of(args, args.w, part, args.k / blocks.values * blocks.bytes * 8)));
  }
  dispatch.bindings.push_back(read_write(args.y.slice(part.row * args.n * 4, part.m * args.n * 4)));
}

void record(WebGpuStream& stream, const MatMulQuantized& args, Dispatch& dispatch, const Part& part) {
  bind_operands(dispatch, args, part);
  const std::string& name = dispatch.kernel;
  dispatch.params = {to_u32(part.m, name), to_u32(part.n, name), to_u32(args.k, name), to_u32(args.n, name),
                     to_u32(part.column, name)};
  if (args.format == WeightFormat::Affine) {
    dispatch.params.push_back(static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(args.layout.group / 32))));
    dispatch.params.push_back(affine_scale_kind(args.layout.scale_type));
  }
  dispatch.grid = stream.fold(groups_of(few_rows_of(args.m), part.m, part.n));
  dispatch.cost = quantized_cost(args, part.m, part.n);
  stream.dispatch(dispatch);
}

/// As many rows as fit, in steps; at least one step, which the stream refuses with both sizes if even that is too long.
int64_t rows_that_fit(int64_t rows, int64_t bytes_of_row, int64_t most_bytes, int64_t step) {
  if (rows * bytes_of_row <= most_bytes) return rows;
  return std::max(step, most_bytes / bytes_of_row / step * step);
}

}  // namespace

void matmul_quantized_webgpu(WebGpuStream& stream, const char* name, const MatMulQuantized& args,
                             int64_t max_binding_bytes) {
  Dispatch dispatch = shader_of(name, args);
  const int64_t m = rows_that_fit(args.m, 4 * std::max(args.k, args.n), max_binding_bytes, kRowsTogether);
  const int64_t w_row = quantized_bytes(args.format, args.layout, kColumnsTogether, args.k) / kColumnsTogether;
  const int64_t n_bound = rows_that_fit(args.n, w_row, max_binding_bytes, kColumnsTogether);
  const double flops_of_column = 2.0 * static_cast<double>(m) * static_cast<double>(args.k);
  const int64_t n_time = static_cast<int64_t>(kMostFlops / flops_of_column) / kColumnsTogether * kColumnsTogether;
  const int64_t n = std::min(n_bound, std::max(kColumnsTogether, n_time));
  for (int64_t row = 0; row < args.m; row += m) {
    for (int64_t column = 0; column < args.n; column += n) {
      record(stream, args, dispatch, {row, std::min(m, args.m - row), column, std::min(n, args.n - column)});
    }
  }
}

}  // namespace athanor::kernels
