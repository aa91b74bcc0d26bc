// What a run will hold, before anything is allocated: the run's own launchers work on a dry device whose pool counts.
#pragma once

#include "device/device.h"
#include "train/settings.h"

#include <string>
#include <vector>

namespace athanor::train {

/// Bytes on the device by what they are for.
struct MemoryKind {
  std::string name;
  int64_t bytes = 0;
};

struct MemoryPlan {
  std::vector<MemoryKind> kinds;    // weights, gradients, moments, activations: when most is in use
  std::vector<MemoryKind> passing;  // logits of a chunk, cache of a sample: each at its own most, at other moments
  int64_t in_use_bytes = 0;         // all kinds together: without this much the run cannot be made
  int64_t pool_bytes = 0;           // kept for reuse beside them, so that a steady step makes no buffer
  int64_t staging_bytes = 0;        // of downloads
  int64_t device_bytes = 0;         // most that the device layer will hold: in use, pool and staging
  int64_t touched_bytes = 0;   // of device_bytes, what the CPU device makes resident: the classes of the pool round up
  int64_t snapshot_bytes = 0;  // host memory while a checkpoint is written
  int64_t limit_bytes = 0;     // what the device counts on; 0: it does not tell

  /// False when the device would refuse; a device that does not tell its memory refuses nothing here.
  bool fits(double share = 1) const {
    return limit_bytes == 0 || static_cast<double>(device_bytes) <= share * static_cast<double>(limit_bytes);
  }
};

/// settings: resolved (model_config complete, max_length, batch, accumulation). validation_blocks: of the loader; an evaluation's last
/// micro-batch has what is left of them. Takes milliseconds and no device memory. Throws Error when a buffer or binding is larger than the
/// device takes, naming it.
MemoryPlan plan_memory(device::Device& device, const TrainSettings& settings, int64_t validation_blocks = 0);

inline constexpr int64_t kLargestBatch = 65536;  // rows of a micro-batch, as TrainSettings::validate has it

/// The most rows of a micro-batch, up to `most`, with which the run still fits this share of the device's memory; 0 when not even one does.
int64_t largest_micro_batch(device::Device& device, TrainSettings settings, int64_t validation_blocks = 0,
                            int64_t most = kLargestBatch, double share = 1);

/// Throws Error when the run does not fit the device, saying what is needed, what there is, and what would fit.
void check_memory(device::Device& device, const TrainSettings& settings, int64_t validation_blocks = 0);

/// Anonymous memory that this process holds beside the buffers of a run on the CPU device: data, program, worker threads, BLAS. What was
/// freed does not count.
int64_t host_base_bytes(device::Device& device);

/// Anonymous memory of a process at its peak when it trains as planned on the CPU device; not below this process's own peak until now,
/// which reading the data may have made.
int64_t host_peak_bytes(const MemoryPlan& plan, int64_t base);

/// "12.3 MiB"
std::string mebibytes(int64_t bytes);

}  // namespace athanor::train
