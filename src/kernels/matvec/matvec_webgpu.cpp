// matvec through WebGPU: the shader is joined from how W is stored, how x is read and what the operand is.
#include "kernels/matvec/matvec_internal.h"
#include "kernels/wgsl/exact_half.h"
#include "kernels/wgsl/matvec.h"
#include "kernels/wgsl/matvec_plain.h"
#include "kernels/wgsl/matvec_rms_norm.h"
#include "kernels/wgsl/matvec_swiglu.h"
#include "kernels/wgsl/matvec_w_f16.h"
#include "kernels/wgsl/matvec_w_f16_scalar.h"
#include "kernels/wgsl/matvec_w_f32.h"
#include "kernels/wgsl/matvec_w_f32_scalar.h"
#include "kernels/wgsl/matvec_w_q8_0.h"
#include "kernels/wgsl/matvec_x_scalar.h"
#include "kernels/wgsl/matvec_x_vec4.h"

#include <algorithm>

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::ShaderSource;

namespace {

constexpr std::string_view kKernel = "matvec";
constexpr int64_t kThreads = 256;
// Parts of W and of y start at multiples of so many rows, so that they start at multiples of 256 bytes: a row of halves has an even number
// of bytes, and so has one of blocks.
constexpr int64_t kRowsTogether = 128;
// With so many rows a GPU is full of workgroups whatever a row's lanes are; with fewer, more lanes a row make the wait for memory shorter.
constexpr int64_t kManyRows = 8192;

const ShaderSource& weight_source(MatVecWeight weight, bool is_wide) {
  switch (weight) {
    case MatVecWeight::F32:
      return is_wide ? matvec_w_f32_wgsl : matvec_w_f32_scalar_wgsl;
    case MatVecWeight::F16:
      return is_wide ? matvec_w_f16_wgsl : matvec_w_f16_scalar_wgsl;
    case MatVecWeight::Q8_0:
      break;
  }
  return matvec_w_q8_0_wgsl;
}

const ShaderSource& operand_source(MatVecOperand operand) {
  switch (operand) {
    case MatVecOperand::Plain:
      return matvec_plain_wgsl;
    case MatVecOperand::RmsNorm:
      return matvec_rms_norm_wgsl;
    case MatVecOperand::Swiglu:
      break;
  }
  return matvec_swiglu_wgsl;
}

/// "portable" is an f32 product of whole vectors that writes y; the others are named by what differs: "rms_norm", "swiglu_acc_w16",
/// "q8_0", "scalar".
std::string variant_of(const MatVec& args, bool is_wide) {
  std::string name;
  const auto add = [&](std::string_view word) { name += fmt::format("{}{}", name.empty() ? "" : "_", word); };
  if (args.operand == MatVecOperand::RmsNorm) add("rms_norm");
  if (args.operand == MatVecOperand::Swiglu) add("swiglu");
  if (args.accumulate == Accumulate::Yes) add("acc");
  if (args.weight == MatVecWeight::F16) add("w16");
  if (args.weight == MatVecWeight::Q8_0) add("q8_0");
  if (!is_wide) add("scalar");
  return name.empty() ? std::string(device::webgpu::kPortable) : name;
}

/// Threads that share a row: as many as let each read all of its part at once, four vectors.
int64_t lanes_of(const MatVec& args, std::string_view variant) {
  constexpr int64_t kLeast = 32;
  if (variant == device::webgpu::kPortable || args.n >= kManyRows) return kLeast;
  if (args.k <= 16 * kLeast) return kLeast;
  return args.k <= 32 * kLeast ? 2 * kLeast : 4 * kLeast;
}

}  // namespace

void matvec_webgpu(device::webgpu::WebGpuStream& stream, const MatVec& args, const device::KernelCost& cost,
                   int64_t max_binding_bytes) {
  const bool is_wide = args.k % 4 == 0;
  Dispatch dispatch;
  dispatch.kernel = kKernel;
  dispatch.variant = variant_of(args, is_wide);
  const int64_t lanes = lanes_of(args, dispatch.variant);
  dispatch.prelude =
      fmt::format("const LANES: u32 = {}u;  // threads that share a row of W\nconst ACCUMULATE: bool = {};\n", lanes,
                  args.accumulate == Accumulate::Yes);
  if (args.weight == MatVecWeight::Q8_0) dispatch.sources.push_back(&exact_half_wgsl);
  dispatch.sources.push_back(&weight_source(args.weight, is_wide));
  dispatch.sources.push_back(is_wide ? &matvec_x_vec4_wgsl : &matvec_x_scalar_wgsl);
  dispatch.sources.push_back(&operand_source(args.operand));
  dispatch.sources.push_back(&matvec_wgsl);
  const int64_t fitting = max_binding_bytes / matvec_row_bytes(args.weight, kRowsTogether, args.k) * kRowsTogether;
  const int64_t most = std::max(fitting, kRowsTogether);  // the stream refuses what is still too long with both sizes
  const bool is_cut = args.w.size_bytes() > max_binding_bytes;
  for (int64_t first = 0; first < args.n; first += most) {
    const int64_t rows = is_cut ? std::min(most, args.n - first) : args.n;
    const int64_t bytes = ceil_div(matvec_row_bytes(args.weight, rows, args.k), 4) * 4;
    dispatch.bindings = {read(args.x), read(args.factor ? args.factor : args.x),
                         read(args.w.slice(matvec_row_bytes(args.weight, first, args.k), bytes)),
                         read_write(args.y.slice(first * 4, rows * 4))};
    dispatch.params = {to_u32(args.k, kKernel), to_u32(rows, kKernel), float_bits(args.eps)};
    dispatch.grid = stream.fold(ceil_div(rows, kThreads / lanes));
    const double share = static_cast<double>(rows) / static_cast<double>(args.n);
    dispatch.cost = {cost.flops * share, cost.bytes * share};
    stream.dispatch(dispatch);
    if (!is_cut) return;
  }
}

}  // namespace athanor::kernels
