// Times of launches by name: timestamps around a pass of its own for each launch where the adapter has them, else the wall clock
// around a submission of its own.
#pragma once

#include "device/webgpu/staging_pool.h"

#include <map>

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

  /// All batches are done. Slowest first.
  std::vector<KernelTime> take();
  void close();

 private:
  struct Launch {
    std::string kernel;
    KernelCost cost;
  };
  struct TimedBatch {
    std::shared_ptr<StagingSlot> slot;
    std::vector<Launch> launches;
  };
  void make_queries();
  void read_finished();
  void add(const std::string& kernel, const KernelCost& cost, double milliseconds);

  Gpu& gpu_;
  StagingPool& staging_;
  int64_t most_launches_;
  bool on_ = false;
  Owned<WGPUQuerySet> queries_;
  Owned<WGPUBuffer> resolved_;
  WGPUPassTimestampWrites writes_ = WGPU_PASS_TIMESTAMP_WRITES_INIT;
  double nanoseconds_per_tick_ = 1;
  std::vector<Launch> launches_;  // of the batch at hand
  std::vector<TimedBatch> batches_;
  std::map<std::string, KernelTime> times_;
};

}  // namespace athanor::device::webgpu
