// rms_norm_residual through WebGPU: rms_norm's launches with other bindings.
#include "kernels/rms_norm/rms_norm_internal.h"
#include "kernels/rms_norm_residual/rms_norm_residual_internal.h"
#include "kernels/wgsl/rms_norm_residual.h"
#include "kernels/wgsl/rms_norm_residual_backward.h"

namespace athanor::kernels {

using device::webgpu::read;
using device::webgpu::read_write;

void rms_norm_residual_webgpu(device::webgpu::WebGpuStream& stream, const RmsNormResidual& args,
                              const device::KernelCost& cost) {
  const NormForm form{"rms_norm_residual",
                      &rms_norm_residual_wgsl,
                      {read(args.x), read(args.residual), read(args.weight), read_write(args.y), read_write(args.out)}};
  launch_rms_norm(stream, form, {args.x, args.weight, args.out, args.rows, args.columns, args.eps, args.weight_offset},
                  cost);
}

void rms_norm_residual_backward_webgpu(device::webgpu::WebGpuStream& stream, const RmsNormResidualBackward& args,
                                       const device::KernelCost& cost) {
  const bool adds_d_y = static_cast<bool>(args.d_y);
  const NormForm form{
      "rms_norm_residual_backward",
      &rms_norm_residual_backward_wgsl,
      {read(args.d_out), read(args.y), read(args.weight), read(adds_d_y ? args.d_y : args.d_out)},  // bound, not read
      adds_d_y};
  launch_rms_norm_backward(stream, form,
                           {args.d_out, args.y, args.weight, args.d_x, args.d_weight, args.rows, args.columns, args.eps,
                            args.weight_offset, args.accumulate_weight},
                           cost);
}

}  // namespace athanor::kernels
