// Faults that tests switch on where the real thing is hard to bring about: a disk that is full, a folder that cannot be
// written (root ignores modes). Read once from $ATHANOR_FAULT, "name", "name:first" (the first-th call and all after
// it fail) or "name:first:last" (those between fail).
#pragma once

#include <string_view>

namespace athanor {

/// True when the named fault is due now. Names in use: "disk-full" (any file write), "no-write" (opening a file to
/// write), "device-lost" (a submission to a WebGPU device), "wrong-kernel" (a case of the check at an adapter's first use), "no-exchange" (a system that cannot swap two folders in one
/// step).
bool fault_due(std::string_view name);

/// Replaces what $ATHANOR_FAULT said and starts the count anew; an empty text switches every fault off. For tests in
/// one process.
void set_fault(std::string_view fault);

}  // namespace athanor
