// top_k through WebGPU.
#include "kernels/top_k/top_k_internal.h"
#include "kernels/wgsl/ordered_bits.h"
#include "kernels/wgsl/row_bits_1.h"
#include "kernels/wgsl/row_bits_4.h"
#include "kernels/wgsl/top_k.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

void top_k_webgpu(device::webgpu::WebGpuStream& stream, const TopK& args, const device::KernelCost& cost) {
  const bool wide = args.columns % 4 == 0;
  Dispatch dispatch;
  dispatch.kernel = "top_k";
  dispatch.variant = wide ? "portable" : "scalar";
  dispatch.sources = {&ordered_bits_wgsl, wide ? &row_bits_4_wgsl : &row_bits_1_wgsl, &top_k_wgsl};
  dispatch.bindings = {read(args.x), read_write(args.values), read_write(args.indices)};
  dispatch.params = {to_u32(args.rows, "top_k"), to_u32(args.columns, "top_k"), to_u32(args.k, "top_k")};
  dispatch.grid = stream.fold(args.rows);
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
