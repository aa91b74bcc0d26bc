// Times of launches by name: timestamps around a pass of its own for each launch where the adapter has them, else the wall clock
// around a submission of its own.
#pragma once

#include "device/webgpu/staging_pool.h"

#include <vector>

namespace athanor::device::webgpu {

class Profiler {
 public:
  Profiler(Gpu& gpu, StagingPool& staging, int64_t most_launches)
      : gpu_(gpu), staging_(staging), most_launches_(most_launches) {}

  bool is_on() const { return on_; }
  bool uses_timestamps() const { return on_ && queries_; }
  void turn(bool on);

  /// The timestamps of the next launch of the batch at hand; valid until the next call.
  const WGPUPassTimestampWrites* next_launch(const Dispatch& dispatch);
  /// Records the copy of the batch's timestamps to the host; nullptr when there were no launches.
  std::shared_ptr<StagingSlot> end_batch(WGPUCommandEncoder encoder);
  void add_wall_time(const Dispatch& dispatch, double milliseconds);

  /// Every launch in order. Waits for all batches, which have been handed in.
  std::vector<KernelLaunch> take();
  void close();

 private:
  struct TimedBatch {
    std::shared_ptr<StagingSlot> slot;
    std::vector<KernelLaunch> launches;
  };
  void make_queries();
  void read_finished();

  Gpu& gpu_;
  StagingPool& staging_;
  int64_t most_launches_;
  bool on_ = false;
  Owned<WGPUQuerySet> queries_;
  Owned<WGPUBuffer> resolved_;
  WGPUPassTimestampWrites writes_ = WGPU_PASS_TIMESTAMP_WRITES_INIT;
  double nanoseconds_per_tick_ = 1;
  std::vector<KernelLaunch> launches_;  // of the batch at hand
  std::vector<TimedBatch> batches_;
  std::vector<KernelLaunch> finished_;
};

}  // namespace athanor::device::webgpu
