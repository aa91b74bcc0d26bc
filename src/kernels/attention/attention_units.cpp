// Attention on the matrix units: the operands as scaled halves in a buffer, then the kernels that read them.
#include "kernels/attention/attention_units.h"

#include "kernels/attention/attention_internal.h"
#include "kernels/matrix_units.h"
#include "kernels/max_magnitude/max_magnitude.h"
#include "kernels/wgsl/attention_halves.h"
#include "kernels/wgsl/attention_units.h"
#include "kernels/wgsl/attention_units_backward.h"
#include "kernels/wgsl/attention_units_backward_kv.h"
#include "kernels/wgsl/attention_units_backward_q.h"
#include "kernels/wgsl/attention_units_tiles.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

constexpr int64_t kRows = 64;      // ROWS in attention_units_tiles.wgsl
constexpr int64_t kWidth = 64;     // halves of a row
constexpr int64_t kVector = 8;     // halves of a vector
constexpr size_t kFirstGroup = 6;  // in its Params

int64_t padded_rows(int64_t length) { return ceil_div(length, kRows) * kRows; }

/// Bytes of q, k and v as halves; of d_out too, which is as large as q, for the backward.
template <typename Args>
int64_t halves_bytes(const Args& args, int64_t tensors_of_heads) {
  return 2 * kWidth * args.batch * padded_rows(args.length) * (tensors_of_heads * args.heads + 2 * args.kv_heads);
}

template <typename Args>
bool fits(Stream& stream, std::string_view kernel, const Args& args, int64_t tensors_of_heads) {
  if (args.precision != MatMulPrecision::Medium || stream.backend() == device::Backend::Cpu) return false;
  const WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
  return args.head_dim <= kWidth && args.head_dim % 4 == 0 && args.soft_cap == 0 && has_matrix_units(webgpu) &&
         halves_bytes(args, tensors_of_heads) <= webgpu.limits().max_binding_bytes && !webgpu.keeps_portable(kernel);
}

Buffer scale_of(Stream& stream, const Buffer& values, Buffer* kept) {
  if (kept != nullptr && *kept) return *kept;
  Buffer scale = stream.device().allocate(8, "scale of attention's operand");
  max_magnitude(stream, {values, scale, values.size_bytes() / 4});
  if (kept != nullptr) *kept = scale;
  return scale;
}

/// The operands as halves, one behind the other: q, k, v, d_out.
struct Halves {
  Buffer values;
  Buffer inverses;      // [4] f32
  int64_t k_start = 0;  // in vectors
  int64_t v_start = 0;
  int64_t d_out_start = 0;
};

template <typename Args>
Halves make_halves(Stream& stream, std::string_view kernel, const Args& args, const Buffer* d_out) {
  const int64_t padded = padded_rows(args.length);
  const int64_t head_vectors = args.batch * padded * kWidth / kVector;
  Halves halves;
  halves.values = stream.device().allocate(halves_bytes(args, d_out == nullptr ? 1 : 2), "attention halves");
  halves.inverses = stream.device().allocate(16, "attention inverse scales");
  halves.k_start = head_vectors * args.heads;
  halves.v_start = halves.k_start + head_vectors * args.kv_heads;
  halves.d_out_start = halves.v_start + head_vectors * args.kv_heads;
  struct Operand {
    const Buffer& values;
    Buffer* kept;
    int64_t heads;
    int64_t start;
  };
  std::vector<Operand> operands = {{args.q, args.kept.q, args.heads, 0},
                                   {args.k, args.kept.k, args.kv_heads, halves.k_start},
                                   {args.v, args.kept.v, args.kv_heads, halves.v_start}};
  if (d_out != nullptr) operands.push_back({*d_out, args.kept.d_out, args.heads, halves.d_out_start});
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    const Buffer scale = scale_of(stream, operand.values, operand.kept);
    const int64_t rows = args.batch * operand.heads * padded;
    WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
    const device::KernelCost cost{0, static_cast<double>(operand.values.size_bytes() + rows * kWidth * 2)};
    webgpu.enter(kernel, cost);
    Dispatch dispatch;
    dispatch.kernel = kernel;
    dispatch.pass = "halves";
    dispatch.sources = {&attention_halves_wgsl};
    dispatch.bindings = {read(operand.values), read(scale), read_write(halves.values), read_write(halves.inverses)};
    dispatch.params = {to_u32(rows, kernel),          to_u32(args.length, kernel),   to_u32(padded, kernel),
                       to_u32(operand.heads, kernel), to_u32(args.head_dim, kernel), to_u32(operand.start, kernel),
                       static_cast<uint32_t>(i)};
    dispatch.grid = webgpu.fold(ceil_div(rows, 32));
    dispatch.cost = cost;
    webgpu.dispatch(dispatch);
  }
  return halves;
}

template <typename Args>
Dispatch units_dispatch(std::string_view kernel, std::string_view pass, const Args& args, const Halves& halves,
                        int subgroups, int slots) {
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.pass = pass;
  dispatch.variant = "medium";
  dispatch.prelude = fmt::format("const SUBGROUPS: u32 = {}u;\nconst SLOTS: u32 = {}u;\n", subgroups, slots);
  dispatch.sources = {&attention_units_tiles_wgsl};
  dispatch.needs_f16 = true;
  dispatch.needs_subgroups = true;
  dispatch.needs_subgroup_matrix = true;
  dispatch.bindings = {read(halves.values), read(halves.values), read(halves.inverses)};
  dispatch.params = {to_u32(args.length, kernel), to_u32(padded_rows(args.length), kernel), to_u32(args.batch, kernel),
                     to_u32(args.heads, kernel), to_u32(args.kv_heads, kernel), to_u32(args.head_dim, kernel), 0, 0,
                     to_u32(halves.k_start, kernel), to_u32(halves.v_start, kernel), to_u32(halves.d_out_start, kernel),
                     // A window as long as the keys hides nothing.
                     to_u32(args.window < args.length ? args.window : 0, kernel), args.first_key ? 1U : 0U,
                     float_bits(args.scale)};
  return dispatch;
}

constexpr double kFlopsPerLaunch = kAttentionFlopsPerLaunch * kMatrixUnitsSpeed;

}  // namespace

bool takes_matrix_units(Stream& stream, const Attention& args) { return fits(stream, "attention", args, 1); }
bool takes_matrix_units(Stream& stream, const AttentionBackward& args) {
  return fits(stream, "attention_backward", args, 2);
}

void attention_on_matrix_units(Stream& stream, const Attention& args, const device::KernelCost& cost) {
  constexpr std::string_view kKernel = "attention";
  const Halves halves = make_halves(stream, kKernel, args, nullptr);
  WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
  webgpu.enter(kKernel, cost);
  Dispatch dispatch = units_dispatch(kKernel, "", args, halves, 2, 1);
  dispatch.sources.push_back(&attention_units_wgsl);
  dispatch.bindings.push_back(read_write(args.out));
  dispatch.bindings.push_back(read_write(args.log_sum_exp));
  // A binding that is not read still needs a buffer.
  dispatch.bindings.push_back(read(args.first_key ? args.first_key : halves.inverses));
  dispatch_groups(webgpu, dispatch, kFirstGroup, padded_rows(args.length) / kRows * args.batch * args.heads, cost,
                  kFlopsPerLaunch);
}

void attention_backward_on_matrix_units(Stream& stream, const AttentionBackward& args, const device::KernelCost& cost) {
  constexpr std::string_view kKernel = "attention_backward";
  const Halves halves = make_halves(stream, kKernel, args, &args.d_out);
  WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
  webgpu.enter(kKernel, cost);
  const Buffer statistics = backward_statistics(webgpu, args);
  const Buffer first_key = args.first_key ? args.first_key : halves.inverses;
  const int64_t row_tiles = padded_rows(args.length) / kRows * args.batch;

  // As in attention_webgpu.cpp: the two products that give the weights and their gradients are made twice.
  Dispatch queries = units_dispatch(kKernel, "d_q", args, halves, 2, 1);
  queries.sources.push_back(&attention_units_backward_wgsl);
  queries.sources.push_back(&attention_units_backward_q_wgsl);
  queries.bindings.push_back(read(statistics));
  queries.bindings.push_back(read_write(args.d_q));
  queries.bindings.push_back(read(first_key));
  dispatch_groups(webgpu, queries, kFirstGroup, row_tiles * args.heads, {cost.flops * 0.6, cost.bytes * 0.5},
                  kFlopsPerLaunch);

  Dispatch keys = units_dispatch(kKernel, "", args, halves, 4, 2);
  keys.sources.push_back(&attention_units_backward_wgsl);
  keys.sources.push_back(&attention_units_backward_kv_wgsl);
  keys.bindings.push_back(read(statistics));
  keys.bindings.push_back(read_write(args.d_k));
  keys.bindings.push_back(read_write(args.d_v));
  keys.bindings.push_back(read(first_key));
  dispatch_groups(webgpu, keys, kFirstGroup, row_tiles * args.kv_heads, {cost.flops * 0.8, cost.bytes * 0.5},
                  kFlopsPerLaunch);
}

}  // namespace athanor::kernels
