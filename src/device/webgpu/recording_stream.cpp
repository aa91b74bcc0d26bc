// Checks and records launches. This is the hot path of small models: no allocation and no lock but one per launch.
#include "device/webgpu/recording_stream.h"

#include "base/host.h"

#include <cstring>
#include <limits>

namespace athanor::device::webgpu {

namespace {

constexpr size_t kMostParams = 32;

Limits limits_of(const WGPULimits& given) {
  Limits limits;
  // No 64-bit indices in WGSL: a binding stays under 2^32 bytes.
  constexpr uint64_t kMostBytes = std::numeric_limits<uint32_t>::max() - 3;
  limits.max_binding_bytes = static_cast<int64_t>(std::min(given.maxStorageBufferBindingSize, kMostBytes));
  limits.max_workgroups_per_dimension = given.maxComputeWorkgroupsPerDimension;
  limits.workgroup_memory_bytes = given.maxComputeWorkgroupStorageSize;
  limits.max_threads_per_workgroup = given.maxComputeInvocationsPerWorkgroup;
  limits.max_storage_buffers = given.maxStorageBuffersPerShaderStage;
  return limits;
}

}  // namespace

RecordingStream::RecordingStream(Device& device, Gpu& gpu, const BufferPool& pool, const DeviceOptions& options)
    : device_(device),
      gpu_(gpu),
      pool_(pool),
      limits_(limits_of(gpu.limits())),
      adapter_max_workgroups_(limits_.max_workgroups_per_dimension),
      clock_(options.batch_seconds, gpu.info().is_software),
      staging_(gpu),
      profiler_(gpu, staging_, kMostLaunches),
      kernel_files_(options.kernel_files),
      plain_kernels_(options.plain_kernels.begin(), options.plain_kernels.end()),
      pipelines_(gpu),
      uniforms_(create_buffer(gpu, kMostLaunches * kUniformSlotBytes, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst,
                              "params")),
      params_(static_cast<size_t>(kMostLaunches * kUniformSlotBytes)),
      bind_groups_(gpu, uniforms_.get()) {
  for (Submission& submission : submissions_) submission.host_waits = &host_waits_;
  use_kernel_files(true);
}

void RecordingStream::use_kernel_files(bool use) {
  uses_kernel_files_ = use && !kernel_files_.is_empty();
  portable_kernels_ = plain_kernels_;
  if (uses_kernel_files_) portable_kernels_.merge(kernel_files_.kernels());
}

void RecordingStream::set_max_workgroups(uint32_t limit) {
  gpu_.check_thread("set_max_workgroups");
  check(limit > 0 && limit <= adapter_max_workgroups_, "set_max_workgroups: {} is not between 1 and the adapter's {}",
        limit, adapter_max_workgroups_);
  limits_.max_workgroups_per_dimension = limit;
}

PooledBuffer& RecordingStream::pooled(const Buffer& buffer, std::string_view doing) const {
  const auto* storage = dynamic_cast<const WebGpuStorage*>(buffer.storage().get());
  check(storage != nullptr && storage->pool() == &pool_, "{}: {} is no buffer of this device; allocate it from {}",
        doing, buffer ? buffer.storage()->label() : "an empty handle", gpu_.info().name);
  return storage->pooled();
}

void RecordingStream::check_binding(const Dispatch& dispatch, size_t index) const {
  const Buffer& buffer = dispatch.bindings[index].buffer;
  check(static_cast<bool>(buffer), "{}: binding {} is empty; pass a buffer", dispatch.kernel, index);
  pooled(buffer, dispatch.kernel);
  const int64_t size = buffer.size_bytes();
  check(size > 0 && size % 4 == 0, "{}: binding {} ({}) has {} bytes; it needs a multiple of 4 above 0",
        dispatch.kernel, index, buffer.storage()->label(), size);
  check(size <= limits_.max_binding_bytes,
        "{}: binding {} ({}) has {} bytes but {} binds at most {}; split the work into parts", dispatch.kernel, index,
        buffer.storage()->label(), size, gpu_.info().name, limits_.max_binding_bytes);
  check(buffer.offset_bytes() % kBufferAlignment == 0,
        "{}: binding {} ({}) starts at byte {} of its storage, which is no multiple of {}; slice it at one",
        dispatch.kernel, index, buffer.storage()->label(), buffer.offset_bytes(), kBufferAlignment);
}

void RecordingStream::check_aliases(const Dispatch& dispatch) const {
  const std::vector<Binding>& bindings = dispatch.bindings;
  for (size_t i = 0; i < bindings.size(); ++i) {
    for (size_t j = i + 1; j < bindings.size(); ++j) {
      const Buffer& a = bindings[i].buffer;
      const Buffer& b = bindings[j].buffer;
      if (a.storage() != b.storage()) continue;
      if (bindings[i].access == Access::Read && bindings[j].access == Access::Read) continue;
      const bool both_write = bindings[i].access == bindings[j].access;
      const bool overlap =
          a.offset_bytes() < b.offset_bytes() + b.size_bytes() && b.offset_bytes() < a.offset_bytes() + a.size_bytes();
      check(both_write && !overlap,
            "{}: bindings {} ({} bytes) and {} ({} bytes) are one storage ({}) that is {}; WebGPU refuses this, use a "
            "second buffer",
            dispatch.kernel, i, a.size_bytes(), j, b.size_bytes(), a.storage()->label(),
            both_write ? "written under both" : "both read and written");
    }
  }
}

void RecordingStream::check_dispatch(const Dispatch& dispatch) const {
  check(dispatch.bindings.size() <= limits_.max_storage_buffers, "{}: {} storage bindings but {} takes at most {}",
        dispatch.kernel, dispatch.bindings.size(), gpu_.info().name, limits_.max_storage_buffers);
  check(dispatch.params.size() <= kMostParams, "{}: {} words of params but at most {} travel", dispatch.kernel,
        dispatch.params.size(), kMostParams);
  const uint32_t most = limits_.max_workgroups_per_dimension;
  const Grid& grid = dispatch.grid;
  check(grid.x <= most && grid.y <= most && grid.z <= most,
        "{}: a grid of {} x {} x {} workgroups but {} takes at most {} a dimension; fold it", dispatch.kernel, grid.x,
        grid.y, grid.z, gpu_.info().name, most);
  for (size_t i = 0; i < dispatch.bindings.size(); ++i) check_binding(dispatch, i);
  check_aliases(dispatch);
}

void RecordingStream::dispatch(const Dispatch& asked) {
  gpu_.check_thread("dispatch");
  gpu_.check_alive(doing_);
  check_dispatch(asked);
  if (asked.grid.x == 0 || asked.grid.y == 0 || asked.grid.z == 0) return;
  const Dispatch& dispatch = uses_kernel_files_ ? kernel_files_.replace(asked) : asked;
  const Pipeline& pipeline = pipelines_.find(dispatch);
  const bool timed_by_wall = profiler_.is_on() && !profiler_.uses_timestamps();
  if (timed_by_wall) wait();

  int64_t bound_bytes = 0;
  for (const Binding& binding : dispatch.bindings) bound_bytes += binding.buffer.size_bytes();
  const double seconds = clock_.estimate(dispatch.cost, bound_bytes);
  if (batch_.launches > 0 && (batch_.launches == kMostLaunches || clock_.is_full(batch_.seconds + seconds)))
    submit_batch();
  const double start = now_seconds();
  record(dispatch, pipeline);
  batch_.launches += 1;
  batch_.seconds += seconds;
  doing_ = dispatch.kernel;
  if (timed_by_wall) {
    wait();
    profiler_.add_wall_time(dispatch, (now_seconds() - start) * 1e3);
  }
}

void RecordingStream::record(const Dispatch& dispatch, const Pipeline& pipeline) {
  const WGPUBindGroup group = bind_groups_.find(dispatch, *pipeline.layout, batch_number_);
  begin_encoder();
  if (profiler_.uses_timestamps()) {
    end_pass();
    begin_pass(profiler_.next_launch(dispatch));
  } else if (batch_.pass == nullptr) {
    begin_pass(nullptr);
  }
  const Api& api = gpu_.api();
  if (batch_.pipeline != pipeline.handle.get()) {
    batch_.pipeline = pipeline.handle.get();
    api.ComputePassEncoderSetPipeline(batch_.pass, batch_.pipeline);
  }
  if (dispatch.params.empty()) {
    api.ComputePassEncoderSetBindGroup(batch_.pass, 0, group, 0, nullptr);
  } else {
    const auto offset = static_cast<uint32_t>(batch_.launches * kUniformSlotBytes);
    std::memcpy(params_.data() + offset, dispatch.params.data(), dispatch.params.size() * sizeof(uint32_t));
    api.ComputePassEncoderSetBindGroup(batch_.pass, 0, group, 1, &offset);
  }
  api.ComputePassEncoderDispatchWorkgroups(batch_.pass, dispatch.grid.x, dispatch.grid.y, dispatch.grid.z);
  for (const Binding& binding : dispatch.bindings) {
    static_cast<const WebGpuStorage&>(*binding.buffer.storage()).pooled().last_batch = batch_number_;
  }
}

void RecordingStream::begin_encoder() {
  if (batch_.encoder != nullptr) return;
  WGPUCommandEncoderDescriptor description = WGPU_COMMAND_ENCODER_DESCRIPTOR_INIT;
  batch_.encoder = gpu_.api().DeviceCreateCommandEncoder(gpu_.device(), &description);
}

void RecordingStream::begin_pass(const WGPUPassTimestampWrites* timestamps) {
  WGPUComputePassDescriptor description = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
  description.timestampWrites = timestamps;
  batch_.pass = gpu_.api().CommandEncoderBeginComputePass(batch_.encoder, &description);
  batch_.pipeline = nullptr;
}

void RecordingStream::end_pass() {
  if (batch_.pass == nullptr) return;
  gpu_.api().ComputePassEncoderEnd(batch_.pass);
  gpu_.api().ComputePassEncoderRelease(std::exchange(batch_.pass, nullptr));
}

}  // namespace athanor::device::webgpu
