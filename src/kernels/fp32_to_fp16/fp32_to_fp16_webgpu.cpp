// fp32_to_fp16 and fp16_to_fp32 through WebGPU.
#include "kernels/fp32_to_fp16/fp32_to_fp16_internal.h"
#include "kernels/wgsl/fp16_to_fp32.h"
#include "kernels/wgsl/fp16_to_fp32_scalar.h"
#include "kernels/wgsl/fp32_to_fp16.h"
#include "kernels/wgsl/fp32_to_fp16_scalar.h"
#include "kernels/wgsl/round_to_half.h"
#include "kernels/wgsl/widen_half.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::ShaderSource;

namespace {

/// A cast of one buffer to another: 2048 values a workgroup in vectors, 512 by pairs where the count is no multiple of four.
Dispatch cast_dispatch(const device::webgpu::WebGpuStream& stream, const char* kernel, int64_t count,
                       const ShaderSource& cast, const ShaderSource& vectors, const ShaderSource& pairs) {
  const bool wide = count % 4 == 0;
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.variant = wide ? "portable" : "scalar";
  dispatch.sources = {&cast, wide ? &vectors : &pairs};
  dispatch.params = {to_u32(wide ? count / 4 : count, kernel)};
  dispatch.grid = stream.fold(ceil_div(count, wide ? 2048 : 512));
  return dispatch;
}

}  // namespace

void fp32_to_fp16_webgpu(device::webgpu::WebGpuStream& stream, const Fp32ToFp16& args, const device::KernelCost& cost) {
  Dispatch dispatch = cast_dispatch(stream, "fp32_to_fp16", args.count, round_to_half_wgsl, fp32_to_fp16_wgsl,
                                    fp32_to_fp16_scalar_wgsl);
  dispatch.bindings = {read(args.values), read_write(args.out)};
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

void fp16_to_fp32_webgpu(device::webgpu::WebGpuStream& stream, const Fp16ToFp32& args, const device::KernelCost& cost) {
  Dispatch dispatch =
      cast_dispatch(stream, "fp16_to_fp32", args.count, widen_half_wgsl, fp16_to_fp32_wgsl, fp16_to_fp32_scalar_wgsl);
  dispatch.bindings = {read(args.halves), read_write(args.out)};
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
