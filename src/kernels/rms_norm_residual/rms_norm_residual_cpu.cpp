// rms_norm_residual for the CPU device: rms_norm's loops, which add the residual to a row just before they read it.
#include "kernels/rms_norm/rms_norm_internal.h"
#include "kernels/rms_norm_residual/rms_norm_residual_internal.h"

namespace athanor::kernels {

using device::cpu::data;

void rms_norm_residual_cpu(device::cpu::CpuStream& stream, const RmsNormResidual& args) {
  rms_norm_cpu(stream, {args.x, args.weight, args.out, args.rows, args.columns, args.eps, args.weight_offset},
               data<float>(args.residual), data<float>(args.y));
}

void rms_norm_residual_backward_cpu(device::cpu::CpuStream& stream, const RmsNormResidualBackward& args) {
  rms_norm_backward_cpu(stream,
                        {args.d_out, args.y, args.weight, args.d_x, args.d_weight, args.rows, args.columns, args.eps,
                         args.weight_offset, args.accumulate_weight},
                        args.d_y ? data<float>(args.d_y) : nullptr);
}

}  // namespace athanor::kernels
