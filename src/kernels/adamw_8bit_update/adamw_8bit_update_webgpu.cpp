// adamw_8bit_update through WebGPU: one shader, joined with loads of vectors or scalars and with or without what writes the mirror.
#include "kernels/adamw_8bit_update/adamw_8bit_update_internal.h"
#include "kernels/wgsl/adamw_8bit_scalars.h"
#include "kernels/wgsl/adamw_8bit_step.h"
#include "kernels/wgsl/adamw_8bit_update.h"
#include "kernels/wgsl/adamw_8bit_update_f16.h"
#include "kernels/wgsl/adamw_8bit_vectors.h"
#include "kernels/wgsl/dynamic_code.h"
#include "kernels/wgsl/mirror_4.h"
#include "kernels/wgsl/mirror_words.h"
#include "kernels/wgsl/round_to_half.h"

#include <cmath>

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

constexpr int64_t kBlocksPerWorkgroup = 4;

const char* variant_of(bool wide, bool has_mirror) {
  if (has_mirror) return wide ? "mirror" : "mirror_scalar";
  return wide ? "portable" : "scalar";
}

std::vector<uint32_t> params_of(const Adamw8bitUpdate& args) {
  const auto step = static_cast<float>(static_cast<double>(args.lr) / static_cast<double>(args.bias_correction1));
  const auto root = static_cast<float>(1 / std::sqrt(static_cast<double>(args.bias_correction2)));
  return {to_u32(args.blocks.count, "adamw_8bit_update"),
          float_bits(args.lr),
          float_bits(args.beta1),
          float_bits(args.beta2),
          float_bits(args.one_minus_beta1),
          float_bits(args.one_minus_beta2),
          float_bits(args.eps),
          float_bits(step),
          float_bits(root)};
}

}  // namespace

void adamw_8bit_update_webgpu(device::webgpu::WebGpuStream& stream, const Adamw8bitUpdate& args,
                              const device::KernelCost& cost) {
  const bool wide = args.count % 4 == 0;
  Dispatch dispatch;
  dispatch.kernel = "adamw_8bit_update";
  dispatch.variant = variant_of(wide, static_cast<bool>(args.mirror));
  dispatch.sources = {wide ? &adamw_8bit_vectors_wgsl : &adamw_8bit_scalars_wgsl, &dynamic_code_wgsl,
                      &adamw_8bit_step_wgsl};
  dispatch.bindings = {read_write(args.weights), read(args.gradients),    read_write(args.m_codes),
                       read_write(args.v_codes), read_write(args.scales), read(args.blocks.table),
                       read(args.stats)};
  if (args.mirror) {
    dispatch.sources.insert(dispatch.sources.end(), {&round_to_half_wgsl, wide ? &mirror_4_wgsl : &mirror_words_wgsl,
                                                     &adamw_8bit_update_f16_wgsl});
    dispatch.bindings.push_back(read_write(args.mirror));
  } else {
    dispatch.sources.push_back(&adamw_8bit_update_wgsl);
  }
  dispatch.params = params_of(args);
  dispatch.grid = stream.fold(ceil_div(args.blocks.count, kBlocksPerWorkgroup));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
