// What kernels need beside the stream itself.
#include "device/webgpu/webgpu_stream.h"

#include <bit>

namespace athanor::device::webgpu {

uint32_t float_bits(float value) { return std::bit_cast<uint32_t>(value); }

const KernelNames& WebGpuStream::portable_kernels() const {
  static const KernelNames none;
  return none;
}

int64_t WebGpuStream::choose(const Choice& choice) const {
  return choices_ ? choices_->find(choice).value_or(choice.rule) : choice.rule;
}

Grid WebGpuStream::fold(int64_t groups) const {
  const int64_t most = limits().max_workgroups_per_dimension;
  check(groups >= 0 && groups <= most * most,
        "fold: {} workgroups but the adapter takes at most {} x {}; split the work", groups, most, most);
  if (groups <= most) return {static_cast<uint32_t>(groups), 1, 1};
  const int64_t rows = (groups + most - 1) / most;
  // Rows of nearly equal width: few groups are idle.
  return {static_cast<uint32_t>((groups + rows - 1) / rows), static_cast<uint32_t>(rows), 1};
}

WebGpuStream& as_webgpu(Stream& stream) {
  check(stream.backend() == Backend::WebGpu, "as_webgpu: the stream is not of a WebGPU device");
  return static_cast<WebGpuStream&>(stream);
}

FewWorkgroups::FewWorkgroups(Stream& stream, uint32_t limit) {
  if (stream.backend() != Backend::WebGpu) return;
  stream_ = &as_webgpu(stream);
  before_ = stream_->limits().max_workgroups_per_dimension;
  stream_->set_max_workgroups(limit);
}

FewWorkgroups::~FewWorkgroups() {
  if (stream_ != nullptr) stream_->set_max_workgroups(before_);
}

}  // namespace athanor::device::webgpu
