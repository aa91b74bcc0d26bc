// Checkpoints written while training goes on: the state is copied to host memory at the save, and a thread makes the folder of the copy.
// The thread calls nothing of the device. One checkpoint is on its way at most.
#pragma once

#include "train/checkpoint.h"

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <thread>
#include <utility>

namespace athanor::train {

/// The bytes of each allocation that the parts lie in, as one buffer each: copied whole, not tensor by tensor.
std::vector<device::Buffer> slabs_of(const CheckpointParts& parts);

/// The device's part of a checkpoint in host memory.
class StateSnapshot {
 public:
  /// Host memory that a copy takes.
  static int64_t size_bytes(const CheckpointParts& parts);

  /// Downloads everything as it is after all work recorded so far. The memory is kept for the next one.
  void take(device::Stream& stream, const CheckpointParts& parts);
  /// Bytes of a buffer as they were.
  std::span<const std::byte> read(const device::Buffer& buffer) const;
  int64_t held_bytes() const { return held_bytes_; }

 private:
  struct Place {
    int64_t first_byte = 0;  // of the storage
    int64_t at = 0;          // in memory_
  };
  std::map<uint64_t, Place> places_;  // by storage
  std::unique_ptr<std::byte[]> memory_;
  int64_t held_bytes_ = 0;
};

class CheckpointWriter {
 public:
  /// in_background false: every checkpoint is written before save() returns.
  CheckpointWriter(RunFolder run, const CheckpointParts& parts, const data::Tokenizer& tokenizer, bool in_background);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  /// Waits for the checkpoint on its way; what went wrong with it is a warning now.
  ~CheckpointWriter();

  /// Copies the state and lets a thread write it, after the checkpoint before; without memory for the copy, or in_background false, writes
  /// it here. Throws Error as save_checkpoint does, and what the one before has thrown.
  void save(device::Stream& stream, const TrainerState& state);
  /// The same, written when it returns: for the last one, beside which nothing goes on.
  void save_now(device::Stream& stream, const TrainerState& state);
  /// Throws what the checkpoint on its way has thrown, if it is done.
  void poll();
  /// Waits for the checkpoint on its way and throws what it has thrown.
  void finish();
  bool is_busy() const { return thread_.joinable() && !is_done_; }

 private:
  bool may_copy();
  void write(const TrainerState& state);

  RunFolder run_;
  CheckpointParts parts_;
  const data::Tokenizer& tokenizer_;
  bool in_background_;
  StateSnapshot snapshot_;
  std::thread thread_;
  std::atomic<bool> is_done_{false};
  std::exception_ptr error_;  // of the thread; read once it is joined
};

/// Host memory that writing a checkpoint takes: a copy of the state, when in the background, and the largest tensor as the file has it.
int64_t checkpoint_host_bytes(const CheckpointParts& parts, bool in_background);

/// True when the machine has that much to spare for a copy of the state.
bool has_room_for_copy(int64_t bytes);

}  // namespace athanor::train
