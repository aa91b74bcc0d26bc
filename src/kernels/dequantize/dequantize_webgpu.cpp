// dequantize and affine_dequantize through WebGPU.
#include "kernels/dequantize/dequantize_internal.h"
#include "kernels/elementwise.h"
#include "kernels/wgsl/affine_dequantize.h"
#include "kernels/wgsl/affine_scale.h"
#include "kernels/wgsl/dequantize.h"
#include "kernels/wgsl/dequantize_scalar.h"
#include "kernels/wgsl/exact_half.h"

#include <bit>

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

void dequantize_webgpu(device::webgpu::WebGpuStream& stream, const Dequantize& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "dequantize", args.count, cost);
  dispatch.sources = {args.count % 4 == 0 ? &dequantize_wgsl : &dequantize_scalar_wgsl};
  dispatch.bindings = {read(args.q), read_write(args.out)};
  stream.dispatch(dispatch);
}

void affine_dequantize_webgpu(device::webgpu::WebGpuStream& stream, const AffineDequantize& args,
                              const device::KernelCost& cost) {
  const char* name = "affine_dequantize";
  const int64_t vectors = args.rows * args.columns / 4;
  Dispatch dispatch;
  dispatch.kernel = name;
  dispatch.sources = {&exact_half_wgsl, &affine_scale_wgsl, &affine_dequantize_wgsl};
  dispatch.bindings = {read(args.q), read(args.scales), read(args.biases), read_write(args.out)};
  dispatch.params = {to_u32(vectors, name), to_u32(args.layout.bits, name),
                     static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(args.layout.group / 4))),
                     affine_scale_kind(args.layout.scale_type)};
  dispatch.grid = stream.fold(ceil_div(vectors, 256));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
