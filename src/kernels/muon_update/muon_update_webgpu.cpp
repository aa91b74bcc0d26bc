// The small passes of muon_update through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/muon_update/muon_update_internal.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"
#include "kernels/wgsl/muon_momentum.h"
#include "kernels/wgsl/muon_normalize.h"
#include "kernels/wgsl/muon_polynomial.h"
#include "kernels/wgsl/muon_update.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

void muon_momentum_webgpu(device::webgpu::WebGpuStream& stream, const MuonUpdate& args, const Buffer& x,
                          const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "muon_update", args.rows * args.columns, cost);
  dispatch.pass = "momentum";
  dispatch.sources = {&muon_momentum_wgsl};
  dispatch.bindings = {read(args.gradients), read(args.stats), read_write(args.m), read_write(x)};
  dispatch.params.insert(dispatch.params.end(), {float_bits(args.momentum), float_bits(args.one_minus_momentum)});
  stream.dispatch(dispatch);
}

void muon_normalize_webgpu(device::webgpu::WebGpuStream& stream, const Buffer& x, const Buffer& norm,
                           const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "muon_update", x.size_bytes() / 4, cost);
  dispatch.pass = "normalize";
  dispatch.sources = {&muon_normalize_wgsl};
  dispatch.bindings = {read_write(x), read(norm)};
  stream.dispatch(dispatch);
}

void muon_polynomial_webgpu(device::webgpu::WebGpuStream& stream, const Buffer& gram, const Buffer& square, int64_t n,
                            const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "muon_update", n * n, cost);
  dispatch.pass = "polynomial";
  dispatch.prelude = "";  // the lanes bring their own Value
  dispatch.sources = {n * n % 4 == 0 ? &lanes_4_wgsl : &lanes_1_wgsl, &muon_polynomial_wgsl};
  dispatch.bindings = {read(gram), read_write(square)};
  dispatch.params.push_back(to_u32(n, "muon_update"));
  stream.dispatch(dispatch);
}

void muon_apply_webgpu(device::webgpu::WebGpuStream& stream, const MuonApply& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "muon_update", args.count, cost);
  dispatch.sources = {&muon_update_wgsl};
  dispatch.bindings = {read_write(args.weights), read(args.direction), read(args.stats)};
  dispatch.params.insert(dispatch.params.end(), {float_bits(args.keep), float_bits(args.step)});
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
