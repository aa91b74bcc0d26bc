// dropout through WebGPU: a thread draws one block of four random words, for eight values.
#include <algorithm>

#include "kernels/dropout/dropout_internal.h"
#include "kernels/wgsl/dropout.h"
#include "kernels/wgsl/dropout_quads_1.h"
#include "kernels/wgsl/dropout_quads_4.h"

namespace athanor::kernels {

using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

void dropout_webgpu(device::webgpu::WebGpuStream& stream, std::string_view kernel, const Dropout& args,
                    const DropoutMask& mask, const device::KernelCost& cost) {
  const bool is_wide = args.columns % 4 == 0;
  const int64_t quads = ceil_div(args.columns, 4);
  const int64_t blocks = quads / 128 * 64 + std::min<int64_t>(quads % 128, 64);  // of a row
  device::webgpu::Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.variant = is_wide ? "portable" : "scalar";
  dispatch.sources = {is_wide ? &dropout_quads_4_wgsl : &dropout_quads_1_wgsl, &dropout_wgsl};
  dispatch.bindings = {read(args.x), read_write(args.out)};
  dispatch.params = {to_u32(args.rows, kernel),
                     to_u32(is_wide ? quads : args.columns, kernel),
                     to_u32(blocks, kernel),
                     mask.first_row,
                     mask.threshold,
                     float_bits(mask.scale),
                     mask.step,
                     mask.layer,
                     mask.key[0],
                     mask.key[1]};
  dispatch.grid = stream.fold(ceil_div(args.rows * blocks, 256));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
