// What the build's table knows of each kernel: its name and the cases that judge it. doctor runs the short ones on the user's
// device, the tests run all; both compare with the plain loop in double precision.
#pragma once

#include "device/choices.h"
#include "device/device.h"
#include "kernels/compare.h"
#include "kernels/matmul/matmul_precision.h"

#include <functional>
#include <string>
#include <vector>

namespace athanor::kernels {

struct KernelCase {
  std::string name;                                // "rows 257, columns 65"
  bool in_doctor = false;                          // short enough for a check on the user's device
  std::function<CaseResult(device::Stream&)> run;  // makes inputs, launches, compares with the plain loop
  bool is_rounded = false;  // of a precision below f32: checked at an adapter's first use only by runs that permit it
};

/// What `bench kernels` measures: one launch of the door on operands that were made beforehand.
struct KernelBench {
  std::string sizes;        // "rows 65536, columns 1024"
  device::KernelCost cost;  // of one launch: FLOPs, and bytes with each operand moved once
  std::function<void()> launch;
  int64_t element_bytes = 4;  // of its widest stream: the copy it is compared with has elements of this width
};

/// Makes operands of which the largest has about `bytes` (a power of two, 1 MiB or more) and real shapes: a matmul as large as its
/// arithmetic allows in about the time that `bytes` would take to be read a hundred times.
using MakeBench = std::function<KernelBench(device::Stream&, int64_t bytes)>;

enum class OperandValues { Random, None };  // none: for a dry device

/// One call of a door at sizes for which its launcher has a choice (kernels/tuner.h).
struct TuningLaunch {
  std::function<void()> launch;
  std::function<void()>
      prepare;            // before a call that finds nothing kept of its operands; the next ones find what it kept
  device::Buffer result;  // f32; what it holds before is added to, or overwritten
};
using MakeTuningLaunch =
    std::function<TuningLaunch(device::Stream&, const device::ChoiceSizes&, MatMulPrecision, OperandValues)>;

struct KernelInfo {
  std::string name;     // "rms_norm_backward"
  std::string summary;  // one line: what it computes
  std::vector<KernelCase> cases;
  MakeBench bench = {};
  std::string folder = {};  // of src/kernels, whose chapter teaches it; set by the table
  /// The same benchmark where factors may be rounded; empty for kernels without.
  std::function<KernelBench(device::Stream&, int64_t bytes, MatMulPrecision)> rounded_bench = {};
  /// Empty for kernels whose launchers have no choice.
  MakeTuningLaunch tuning = {};
};

/// Every kernel of every folder, in alphabetical order of the folders. Written by the build.
std::vector<KernelInfo> all_kernels();

/// A hash of all embedded shaders' texts: what a verdict on an adapter holds for.
std::string shaders_digest();

}  // namespace athanor::kernels
