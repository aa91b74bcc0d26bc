// The matrix products through WebGPU: one launcher for the family. It joins the shader from a load of X, a load of W
// and the kernel's own file, and cuts the work into dispatches.
#include "kernels/matmul/matmul_internal.h"
#include "kernels/matmul/matmul_plan.h"
#include "kernels/wgsl/matmul.h"
#include "kernels/wgsl/matmul_at.h"
#include "kernels/wgsl/matmul_bindings.h"
#include "kernels/wgsl/matmul_few_rows.h"
#include "kernels/wgsl/matmul_load_hidden_scalar.h"
#include "kernels/wgsl/matmul_load_hidden_vec4.h"
#include "kernels/wgsl/matmul_load_w_scalar.h"
#include "kernels/wgsl/matmul_load_w_vec4.h"
#include "kernels/wgsl/matmul_load_x_scalar.h"
#include "kernels/wgsl/matmul_load_x_vec4.h"
#include "kernels/wgsl/matmul_sum_parts.h"
#include "kernels/wgsl/matmul_swiglu_bindings.h"
#include "kernels/wgsl/matmul_t.h"
#include "kernels/wgsl/matmul_t_few_rows.h"
#include "kernels/wgsl/matmul_tile.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::Grid;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::ShaderSource;
using device::webgpu::WebGpuStream;

namespace {

constexpr int64_t kTile = 64;
constexpr int64_t kFewRowsColumns = 32;
constexpr int64_t kFewRowsColumnsT = 8;
// Beside the number of the first workgroup, which stays below it: Y has fewer than 2^30 values. A bit instead of a
// shader of its own halves what has to be compiled.
constexpr uint32_t kAccumulateBit = 0x80000000U;

/// One product in the words that all of the family share.
struct Job {
  const char* name;
  Buffer x;   // X, or the gate
  Buffer up;  // empty unless X is silu(gate) * up
  Buffer w;   // W or B
  Buffer y;
  int64_t rows;  // of Y
  int64_t columns;
  int64_t sum;    // terms of each value
  int64_t x_row;  // length of a row of X: decides between vector and scalar loads
  int64_t w_row;
  Accumulate accumulate;
};

std::string prelude_of(const Job& job, int64_t few_rows) {
  const auto type = [](int64_t row) { return row % 4 == 0 ? "vec4<f32>" : "f32"; };
  std::string lines = fmt::format("alias XValue = {};\nalias WValue = {};\n", type(job.x_row), type(job.w_row));
  if (few_rows > 0)
    lines += fmt::format("const ROWS: u32 = {}u;\nconst SLICES: u32 = {}u;\n", few_rows, few_rows == 8 ? 16 : 32);
  return lines;
}

Dispatch dispatch_of(const Job& job, const ShaderSource& body, int64_t few_rows) {
  const bool swiglu = static_cast<bool>(job.up);
  const bool x_vectors = job.x_row % 4 == 0;
  const bool w_vectors = job.w_row % 4 == 0;
  Dispatch dispatch;
  dispatch.kernel = job.name;
  dispatch.prelude = prelude_of(job, few_rows);
  dispatch.sources = {swiglu ? &matmul_swiglu_bindings_wgsl : &matmul_bindings_wgsl};
  if (swiglu) {
    dispatch.sources.push_back(x_vectors ? &matmul_load_hidden_vec4_wgsl : &matmul_load_hidden_scalar_wgsl);
  } else {
    dispatch.sources.push_back(x_vectors ? &matmul_load_x_vec4_wgsl : &matmul_load_x_scalar_wgsl);
  }
  dispatch.sources.push_back(w_vectors ? &matmul_load_w_vec4_wgsl : &matmul_load_w_scalar_wgsl);
  if (few_rows == 0) dispatch.sources.push_back(&matmul_tile_wgsl);
  dispatch.sources.push_back(&body);
  dispatch.bindings.push_back(read(job.x));
  if (swiglu) dispatch.bindings.push_back(read(job.up));
  dispatch.bindings.push_back(read(job.w));
  dispatch.bindings.push_back(read_write(job.y));
  return dispatch;
}

/// Records the workgroups of a product, `across` of them beside each other, each of them `parts` times.
void record(WebGpuStream& stream, const Job& job, Dispatch dispatch, int64_t groups, int64_t across, int64_t parts) {
  const double flops =
      2.0 * static_cast<double>(job.rows) * static_cast<double>(job.columns) * static_cast<double>(job.sum);
  const int64_t x_values = job.rows * job.sum * (job.up ? 2 : 1);
  const double bytes = 4.0 * static_cast<double>(x_values + job.sum * job.columns + job.rows * job.columns);
  const uint32_t accumulate = job.accumulate == Accumulate::Yes ? kAccumulateBit : 0;
  const int64_t most = static_cast<int64_t>(kMostFlops / flops * static_cast<double>(groups));
  for (const Rectangle& part : cover(groups, across, stream.limits().max_workgroups_per_dimension, most)) {
    const double share = static_cast<double>(part.width * part.height) / static_cast<double>(groups);
    dispatch.params = {to_u32(job.rows, job.name), to_u32(job.columns, job.name), to_u32(job.sum, job.name),
                       to_u32(part.first, job.name) | accumulate};
    dispatch.grid = {to_u32(part.width, job.name), to_u32(part.height, job.name), to_u32(parts, job.name)};
    dispatch.cost = {flops * share, bytes * share};
    stream.dispatch(dispatch);
  }
}

/// partial (parts, Y's values) added up, in order, into Y.
void record_sum_of_parts(WebGpuStream& stream, const Job& job, const Buffer& partial, int64_t parts) {
  const int64_t count = job.rows * job.columns;
  Dispatch dispatch;
  dispatch.kernel = job.name;
  dispatch.sources = {&matmul_sum_parts_wgsl};
  dispatch.bindings = {read(partial), read_write(job.y)};
  dispatch.params = {to_u32(count, job.name), to_u32(parts, job.name), job.accumulate == Accumulate::Yes ? 1U : 0U, 0};
  dispatch.grid = stream.fold(ceil_div(count, 256));
  dispatch.cost = {static_cast<double>(count * parts), 4.0 * static_cast<double>(count * (parts + 1))};
  stream.dispatch(dispatch);
}

void record_tiles(WebGpuStream& stream, const Job& job, const ShaderSource& body) {
  const int64_t across = ceil_div(job.columns, kTile);
  const int64_t tiles = across * ceil_div(job.rows, kTile);
  const int64_t parts = std::min<int64_t>(parts_of(tiles, job.sum), stream.limits().max_workgroups_per_dimension);
  if (parts == 1) return record(stream, job, dispatch_of(job, body, 0), tiles, across, 1);
  Job partial = job;
  partial.y = stream.device().allocate(parts * job.rows * job.columns * 4, "matmul partial sums");
  partial.accumulate = Accumulate::No;
  record(stream, partial, dispatch_of(partial, body, 0), tiles, across, parts);
  record_sum_of_parts(stream, job, partial.y, parts);
}

/// The kernel of a few rows is made for 1, 4 and 8 of them; rows that are not there load zeros.
void record_few_rows(WebGpuStream& stream, const Job& job, const ShaderSource& body, int64_t columns_of_group) {
  const int64_t groups = ceil_div(job.columns, columns_of_group);
  const int64_t rows = job.rows == 1 ? 1 : (job.rows <= 4 ? 4 : 8);
  record(stream, job, dispatch_of(job, body, rows), groups, groups, 1);
}

/// Rows of an operand that one dispatch may bind: a multiple of 64, so that every further range starts at a multiple of
/// 256 bytes. A range that does not fit even so is refused by the stream, which names both sizes.
int64_t rows_that_fit(const WebGpuStream& stream, int64_t longest_row) {
  const int64_t rows = stream.limits().max_binding_bytes / (4 * longest_row) / 64 * 64;
  return std::max<int64_t>(64, rows);
}

Buffer rows_of(const Buffer& buffer, int64_t first, int64_t rows, int64_t length) {
  return buffer ? buffer.slice(first * length * 4, rows * length * 4) : Buffer();
}

/// Y = X @ W: X and Y are cut by rows where they exceed what a kernel can see.
void record_rows(WebGpuStream& stream, const Job& job, const ShaderSource& body) {
  const int64_t most = rows_that_fit(stream, std::max(job.sum, job.columns));
  for (int64_t first = 0; first < job.rows; first += most) {
    Job part = job;
    part.rows = std::min(most, job.rows - first);
    part.x = rows_of(job.x, first, part.rows, job.sum);
    part.up = rows_of(job.up, first, part.rows, job.sum);
    part.y = rows_of(job.y, first, part.rows, job.columns);
    record_tiles(stream, part, body);
  }
}

/// Y = X^T @ B: X and B are cut by rows, and the later ranges add to the first.
void record_transposed(WebGpuStream& stream, const Job& job) {
  const int64_t most = std::min(kMostTerms, rows_that_fit(stream, std::max(job.x_row, job.w_row)));
  for (int64_t first = 0; first < job.sum; first += most) {
    Job part = job;
    part.sum = std::min(most, job.sum - first);
    part.x = rows_of(job.x, first, part.sum, job.x_row);
    part.up = rows_of(job.up, first, part.sum, job.x_row);
    part.w = rows_of(job.w, first, part.sum, job.w_row);
    if (first > 0) part.accumulate = Accumulate::Yes;
    record_tiles(stream, part, matmul_at_wgsl);
  }
}

}  // namespace

void matmul_webgpu(WebGpuStream& stream, const MatMul& args) {
  const Job job{matmul_name(args), args.x, {}, args.w, args.y, args.m, args.n, args.k, args.k, args.n, args.accumulate};
  if (args.m <= kFewRows) return record_few_rows(stream, job, matmul_few_rows_wgsl, kFewRowsColumns);
  record_rows(stream, job, matmul_wgsl);
}

void matmul_t_webgpu(WebGpuStream& stream, const MatMul& args) {
  const Job job{matmul_t_name(args), args.x, {}, args.w, args.y, args.m, args.n, args.k, args.k, args.k,
                args.accumulate};
  if (args.m <= kFewRows) return record_few_rows(stream, job, matmul_t_few_rows_wgsl, kFewRowsColumnsT);
  record_rows(stream, job, matmul_t_wgsl);
}

void matmul_at_webgpu(WebGpuStream& stream, const MatMulAt& args) {
  record_transposed(
      stream,
      {matmul_at_name(args), args.x, {}, args.b, args.y, args.k, args.n, args.m, args.k, args.n, args.accumulate});
}

void matmul_swiglu_a_webgpu(WebGpuStream& stream, const MatMulSwiglu& args) {
  const Job job{"matmul_swiglu_a", args.gate, args.up, args.w, args.y, args.m, args.n, args.k, args.k, args.n,
                Accumulate::No};
  if (args.m <= kFewRows) return record_few_rows(stream, job, matmul_few_rows_wgsl, kFewRowsColumns);
  record_rows(stream, job, matmul_wgsl);
}

void matmul_at_swiglu_a_webgpu(WebGpuStream& stream, const MatMulAtSwiglu& args) {
  record_transposed(stream, {matmul_at_swiglu_a_name(args), args.gate, args.up, args.b, args.y, args.k, args.n, args.m,
                             args.k, args.n, args.accumulate});
}

}  // namespace athanor::kernels
