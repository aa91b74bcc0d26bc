// Faults that tests switch on where the real thing is hard to bring about: a disk that is full, a folder that cannot be
// written (root ignores modes). Read once from $ATHANOR_FAULT, "name", "name:first" (the first-th call and all after
// it fail) or "name:first:last" (those between fail).
#pragma once

#include <string_view>

namespace athanor {

/// True when the named fault is due now. Names in use: "disk-full" (any file write), "no-write" (opening a file to
/// write), "device-lost" (a submission to a WebGPU device), "wrong-kernel" (a case of the check at an adapter's first use),
/// "wrong-forms-of-NAME" (the faster forms of one kernel in that check), "no-exchange" (a system that cannot swap two folders in one
/// step), "infinite-gradient" (of a training step), "huge-rate" (a learning rate of 1000 for a step), and those of kill_point.
bool fault_due(std::string_view name);

/// Ends this process at once, as SIGKILL does, when the named fault is due: "kill-after-forward", "kill-after-backward" (of a
/// micro-batch), "kill-after-update" (of a step), and of a checkpoint "kill-model-written", "kill-optimizer-written",
/// "kill-state-written", "kill-before-latest", "kill-after-latest", "kill-before-removal".
void kill_point(std::string_view name);

/// While one lives, nothing fails and no call counts: for work that only rehearses what comes (a dry run).
class NoFaults {
 public:
  NoFaults();
  NoFaults(const NoFaults&) = delete;
  NoFaults& operator=(const NoFaults&) = delete;
  ~NoFaults();
};

/// Replaces what $ATHANOR_FAULT said and starts the count anew; an empty text switches every fault off. For tests in
/// one process.
void set_fault(std::string_view fault);

}  // namespace athanor
