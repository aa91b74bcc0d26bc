// max_magnitude through WebGPU: maxima of workgroups, then the scale.
#include "kernels/max_magnitude/max_magnitude_internal.h"
#include "kernels/wgsl/max_magnitude.h"
#include "kernels/wgsl/max_magnitude_scalars.h"
#include "kernels/wgsl/max_magnitude_scale.h"
#include "kernels/wgsl/max_magnitude_vectors.h"

#include <algorithm>

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

constexpr int64_t kThreads = 256;
constexpr int64_t kMostGroups =
    1024;  // eight of 256 threads on each of 128 processors; a quarter of it leaves memory idle

}  // namespace

void max_magnitude_webgpu(WebGpuStream& stream, const MaxMagnitude& args, const device::KernelCost& cost,
                          int64_t most_bytes) {
  const int64_t lanes = args.count % 4 == 0 ? 4 : 1;
  const int64_t range = std::max<int64_t>(1, most_bytes / device::kBufferAlignment) * device::kBufferAlignment / 4;
  const int64_t most_groups = std::min<int64_t>(kMostGroups, stream.limits().max_workgroups_per_dimension);
  const int64_t groups =
      std::min(most_groups, ceil_div(std::min(args.count, range) / lanes, kThreads));  // of one range
  const int64_t ranges = ceil_div(args.count, range);
  const Buffer maxima = stream.device().allocate(ranges * groups * 4, "max_magnitude maxima");

  for (int64_t i = 0; i < ranges; ++i) {
    const int64_t count = std::min(range, args.count - i * range);
    Dispatch dispatch;
    dispatch.kernel = "max_magnitude";
    dispatch.variant = lanes == 4 ? "portable" : "scalar";
    dispatch.sources = {lanes == 4 ? &max_magnitude_vectors_wgsl : &max_magnitude_scalars_wgsl, &max_magnitude_wgsl};
    dispatch.bindings = {read(args.values.slice(i * range * 4, count * 4)), read_write(maxima)};
    dispatch.params = {to_u32(count / lanes, dispatch.kernel), to_u32(i * groups, dispatch.kernel), 0, 0};
    dispatch.grid = {to_u32(groups, dispatch.kernel), 1, 1};
    dispatch.cost = {cost.flops / static_cast<double>(ranges), cost.bytes / static_cast<double>(ranges)};
    stream.dispatch(dispatch);
  }

  Dispatch scale;
  scale.kernel = "max_magnitude";
  scale.pass = "scale";
  scale.sources = {&max_magnitude_scale_wgsl};
  scale.bindings = {read(maxima), read_write(args.scale)};
  scale.params = {to_u32(ranges * groups, scale.kernel), 0, 0, 0};
  stream.dispatch(scale);
}

}  // namespace athanor::kernels
