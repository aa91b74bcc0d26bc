// What a run will hold, before anything is allocated: the run's own launchers work on a dry device whose pool counts.
#pragma once

#include "device/device.h"
#include "train/settings.h"

#include <string>
#include <vector>

namespace athanor::train {

/// Bytes on the device by what they are for, when most is in use.
struct MemoryKind {
  std::string name;  // "weights", "gradients", "moments", "activations", "logits", "cache"
  int64_t bytes = 0;
};

struct MemoryPlan {
  std::vector<MemoryKind> kinds;
  int64_t in_use_bytes = 0;    // all kinds together: without this much the run cannot be made
  int64_t pool_bytes = 0;      // kept for reuse beside them, so that a steady step makes no buffer
  int64_t staging_bytes = 0;   // of downloads
  int64_t device_bytes = 0;    // most that the device layer will hold: in use, pool and staging
  int64_t touched_bytes = 0;   // of device_bytes, what the CPU device makes resident: the classes of the pool round up
  int64_t snapshot_bytes = 0;  // host memory while a checkpoint is written
  int64_t limit_bytes = 0;     // what the device counts on; 0: it does not tell

  /// False when the device would refuse; a device that does not tell its memory refuses nothing here.
  bool fits() const { return limit_bytes == 0 || device_bytes <= limit_bytes; }
};

/// settings: resolved (model_config complete, max_length, batch, accumulation). validation_blocks: of the loader; an evaluation's last
/// micro-batch has what is left of them. Takes milliseconds and no device memory. Throws Error when a buffer or binding is larger than the
/// device takes, naming it.
MemoryPlan plan_memory(device::Device& device, const TrainSettings& settings, int64_t validation_blocks = 0);

/// The most rows of a micro-batch with which the run still fits; 0 when not even one does.
int64_t largest_micro_batch(device::Device& device, TrainSettings settings, int64_t validation_blocks = 0);

/// Throws Error when the run does not fit the device, saying what is needed, what there is, and what would fit.
void check_memory(device::Device& device, const TrainSettings& settings, int64_t validation_blocks = 0);

/// Anonymous memory of a process at its peak when it trains as planned on the CPU device: `base` (what the process holds without the run's
/// buffers) and the run's.
int64_t host_peak_bytes(const MemoryPlan& plan, int64_t base);

/// "12.3 MiB"
std::string mebibytes(int64_t bytes);

}  // namespace athanor::train
