// copy through WebGPU.
#include "kernels/copy/copy_internal.h"
#include "kernels/wgsl/copy.h"
#include "kernels/wgsl/copy_strided.h"

#include <algorithm>

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

constexpr int64_t kThreads = 256;

bool in_fours(const std::array<int64_t, 4>& strides) {
  return std::all_of(strides.begin(), strides.begin() + 3, [](int64_t stride) { return stride % 4 == 0; });
}

/// Whether four neighbours along the last dimension are one aligned vec4 on both sides.
bool is_wide(const Copy& args) {
  return args.source_strides[3] == 1 && args.out_strides[3] == 1 && args.sizes[3] % 4 == 0 &&
         args.source_offset % 4 == 0 && args.out_offset % 4 == 0 && in_fours(args.source_strides) &&
         in_fours(args.out_strides) && args.source.size_bytes() % 16 == 0 && args.out.size_bytes() % 16 == 0;
}

bool is_contiguous(const Copy& args) {
  return args.sizes[0] * args.sizes[1] * args.sizes[2] == 1 && args.source_strides[3] == 1 && args.out_strides[3] == 1;
}

}  // namespace

void copy_webgpu(device::webgpu::WebGpuStream& stream, const Copy& args, const device::KernelCost& cost) {
  const bool wide = is_wide(args);
  const bool contiguous = is_contiguous(args);
  const int64_t lanes = wide ? 4 : 1;
  const int64_t length = args.sizes[3] / lanes;
  const int64_t count = args.sizes[0] * args.sizes[1] * args.sizes[2] * length;
  const auto u32 = [](int64_t value) { return to_u32(value, "copy"); };
  Dispatch dispatch;
  dispatch.kernel = "copy";
  dispatch.variant = contiguous ? (wide ? "portable" : "scalar") : (wide ? "strided" : "strided_scalar");
  dispatch.sources = {contiguous ? &copy_wgsl : &copy_strided_wgsl};
  dispatch.prelude = wide ? "alias Value = vec4<u32>;\n" : "alias Value = u32;\n";
  dispatch.bindings = {read(args.source), read_write(args.out)};
  dispatch.params = {u32(count), u32(args.source_offset / lanes), u32(args.out_offset / lanes)};
  if (!contiguous) {
    dispatch.params.insert(dispatch.params.end(), {u32(args.sizes[1]), u32(args.sizes[2]), u32(length)});
    for (const std::array<int64_t, 4>* strides : {&args.source_strides, &args.out_strides}) {
      for (size_t i = 0; i < 3; ++i) dispatch.params.push_back(u32((*strides)[i] / lanes));
      dispatch.params.push_back(u32((*strides)[3]));
    }
  }
  dispatch.grid = stream.fold(ceil_div(count, kThreads));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
