// add and gradient_accumulate through WebGPU.
#include "kernels/add/add_internal.h"
#include "kernels/elementwise.h"
#include "kernels/wgsl/add.h"
#include "kernels/wgsl/gradient_accumulate.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

void add_webgpu(device::webgpu::WebGpuStream& stream, const Add& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "add", args.count, cost);
  dispatch.sources = {&add_wgsl};
  dispatch.bindings = {read(args.a), read(args.b), read_write(args.out)};
  stream.dispatch(dispatch);
}

void gradient_accumulate_webgpu(device::webgpu::WebGpuStream& stream, const AddInto& args,
                                const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "gradient_accumulate", args.count, cost);
  dispatch.sources = {&gradient_accumulate_wgsl};
  dispatch.bindings = {read(args.from), read_write(args.into)};
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
