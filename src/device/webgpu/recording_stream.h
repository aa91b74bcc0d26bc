// The stream: records launches and copies into one command encoder with one long compute pass, and hands batches to the queue, each
// bounded in time and at most two on the way.
#pragma once

#include "device/read_back.h"
#include "device/webgpu/batch_clock.h"
#include "device/webgpu/bind_group_cache.h"
#include "device/webgpu/buffer_pool.h"
#include "device/webgpu/kernel_files.h"
#include "device/webgpu/pipeline_cache.h"
#include "device/webgpu/profiler.h"
#include "device/webgpu/staging_pool.h"

#include <array>

namespace athanor::device::webgpu {

class RecordingStream final : public WebGpuStream, public ReadBackCounter {
 public:
  RecordingStream(Device& device, Gpu& gpu, const BufferPool& pool, const DeviceOptions& options);

  Device& device() override { return device_; }
  const Limits& limits() const override { return limits_; }
  bool has_f16() const override { return gpu_.has_f16(); }
  bool has_subgroups() const override { return gpu_.has_subgroups(); }
  std::span<const SubgroupMatrix> subgroup_matrices() const override { return gpu_.subgroup_matrices(); }
  void set_max_workgroups(uint32_t limit) override;
  const KernelNames& portable_kernels() const override { return portable_kernels_; }
  void use_kernel_files(bool use) override;
  int64_t replaced_launches(std::string_view name) const override { return kernel_files_.launches(name); }
  void dispatch(const Dispatch& dispatch) override;

  void upload(const Buffer& to, std::span<const std::byte> bytes) override;
  void download(const Buffer& from, std::span<std::byte> bytes) override;
  std::unique_ptr<Readback> read_later(const Buffer& from) override;
  void copy(const Buffer& from, const Buffer& to) override;
  void fill_zero(const Buffer& to) override;
  void submit() override;
  void wait() override;
  void set_profiling(bool on) override;
  std::vector<KernelLaunch> take_launches() override;

  /// Waits for a slot's bytes; for the readbacks.
  void finish_reading(StagingSlot& slot, std::span<std::byte> bytes);
  void forget_buffers(std::span<const uint64_t> ids) { bind_groups_.forget(ids); }
  const StagingPool& staging() const { return staging_; }
  void trim() { staging_.trim(); }
  /// Waits as far as the device still answers and releases all that belongs to it.
  void close();

 private:
  // 256 bytes a launch, the largest minUniformBufferOffsetAlignment; so many launches a batch at most.
  static constexpr int64_t kUniformSlotBytes = 256;
  static constexpr int64_t kMostLaunches = 1024;
  // Two batches: one runs while the next waits behind it. More would only delay errors and hold memory.
  static constexpr size_t kMostInFlight = 2;

  struct Submission {
    bool is_running = false;
    double submitted = 0;
    double finished = 0;
    double estimated_seconds = 0;
    bool is_exact = false;
    const bool* host_waits = nullptr;
  };
  struct Batch {
    WGPUCommandEncoder encoder = nullptr;
    WGPUComputePassEncoder pass = nullptr;
    WGPUComputePipeline pipeline = nullptr;  // set in the pass
    int64_t launches = 0;
    double seconds = 0;
    std::vector<std::shared_ptr<StagingSlot>> reads;
  };

  // recording_stream.cpp
  void check_dispatch(const Dispatch& dispatch) const;
  void check_binding(const Dispatch& dispatch, size_t index) const;
  void check_aliases(const Dispatch& dispatch) const;
  void record(const Dispatch& dispatch, const Pipeline& pipeline);
  void begin_pass(const WGPUPassTimestampWrites* timestamps);
  void end_pass();
  void begin_encoder();
  PooledBuffer& pooled(const Buffer& buffer, std::string_view doing) const;
  // submission.cpp
  void submit_batch();
  void hand_in(WGPUCommandBuffer commands);
  Submission& free_submission();
  void wait_for_submissions();
  void learn_from_finished();
  void abandon_batch();
  // transfer.cpp
  std::shared_ptr<StagingSlot> record_read(const Buffer& from, int64_t offset_bytes, int64_t size_bytes);
  void record_copy(const Buffer& from, const Buffer& to);
  void check_words(std::string_view doing, const Buffer& buffer) const;

  Device& device_;
  Gpu& gpu_;
  const BufferPool& pool_;
  Limits limits_;
  uint32_t adapter_max_workgroups_ = 0;
  BatchClock clock_;
  StagingPool staging_;
  Profiler profiler_;
  KernelFiles kernel_files_;
  bool uses_kernel_files_ = false;
  const KernelNames plain_kernels_;
  KernelNames portable_kernels_;  // those, and what the files in use stand in for
  PipelineCache pipelines_;
  Owned<WGPUBuffer> uniforms_;
  std::vector<std::byte> params_;  // of the batch, a slot a launch
  BindGroupCache bind_groups_;
  Batch batch_;
  uint64_t batch_number_ = 1;
  std::array<Submission, kMostInFlight> submissions_;
  double last_finished_ = 0;
  bool host_waits_ = false;
  int64_t uploaded_bytes_ = 0;      // since the last submission
  std::string doing_ = "starting";  // the last thing recorded, for errors
};

}  // namespace athanor::device::webgpu
