// sample through WebGPU: a copy with penalised logits where they are asked for, then one launch for all rows.
#include "base/random.h"
#include "kernels/sample/sample_internal.h"
#include "kernels/wgsl/ordered_bits.h"
#include "kernels/wgsl/row_bits_1.h"
#include "kernels/wgsl/row_bits_4.h"
#include "kernels/wgsl/sample.h"
#include "kernels/wgsl/sample_penalty.h"
#include "kernels/wgsl/sample_philox.h"

#include <cmath>

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

uint32_t low_of(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high_of(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

Buffer penalised_logits(device::webgpu::WebGpuStream& stream, const Sample& args) {
  const Buffer penalised = stream.device().allocate(args.logits.size_bytes(), "sample penalised logits");
  stream.copy(args.logits, penalised);
  const int64_t count = args.rows * args.previous_length;
  Dispatch dispatch;
  dispatch.kernel = "sample";
  dispatch.pass = "penalty";
  dispatch.sources = {&sample_penalty_wgsl};
  dispatch.bindings = {read(args.logits), read(args.previous), read_write(penalised)};
  dispatch.params = {to_u32(count, "sample"), to_u32(args.previous_length, "sample"), to_u32(args.vocabulary, "sample"),
                     float_bits(args.repeat_penalty)};
  dispatch.grid = stream.fold(ceil_div(count, 256));
  dispatch.cost = {static_cast<double>(count), 12.0 * static_cast<double>(count)};
  stream.dispatch(dispatch);
  return penalised;
}

/// The uniform of sample.wgsl, in its order.
std::vector<uint32_t> params_of(const Sample& args) {
  const int64_t most = kept_by_top_k(args);
  const bool all_by_rank = most == args.vocabulary;
  const uint64_t position = static_cast<uint64_t>(args.position);
  // As Random makes its key of seed and stream.
  const std::array<uint32_t, 4> key =
      philox4x32({low_of(args.seed), high_of(args.seed), static_cast<uint32_t>(RandomStream::Sampling), 0}, {0, 0});
  const double top_p = std::max(1.0, std::floor(static_cast<double>(args.top_p) * 0x1p32));
  return {to_u32(args.rows, "sample"),
          to_u32(args.vocabulary, "sample"),
          args.temperature == 0 ? 1U : 0U,
          all_by_rank ? 0U : to_u32(most, "sample"),
          args.top_p < 1 ? static_cast<uint32_t>(top_p) : 0U,
          all_by_rank && args.top_p == 1 ? 1U : 0U,
          float_bits(args.min_p > 0 ? std::log(args.min_p) : -3e38F),
          float_bits(args.temperature),
          key[0],
          key[1],
          low_of(position),
          high_of(position),
          args.first_row};
}

}  // namespace

void sample_webgpu(device::webgpu::WebGpuStream& stream, const Sample& args, const device::KernelCost& cost) {
  const bool wide = args.vocabulary % 4 == 0;
  Dispatch dispatch;
  dispatch.kernel = "sample";
  dispatch.variant = wide ? "portable" : "scalar";
  dispatch.sources = {&ordered_bits_wgsl, wide ? &row_bits_4_wgsl : &row_bits_1_wgsl, &sample_philox_wgsl,
                      &sample_wgsl};
  const Buffer logits = has_penalty(args) ? penalised_logits(stream, args) : args.logits;
  dispatch.bindings = {read(logits), read_write(args.tokens)};
  dispatch.params = params_of(args);
  dispatch.grid = stream.fold(args.rows);
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
