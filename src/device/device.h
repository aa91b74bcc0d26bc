// A Device owns memory and runs kernels; its Stream takes work in order. Two kinds: WebGPU and the CPU.
// A device belongs to the thread that opened it (calls from another one throw); buffers may be dropped anywhere.
// Memory is decided here, once: a buffer's bytes return to the pool in stream order, so a dropped buffer may still be read by
// work recorded before, and is written again only by work recorded after.
#pragma once

#include "base/error.h"
#include "device/buffer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::device {

enum class Backend { Cpu, WebGpu };

/// As --device spells it: "cpu", "webgpu".
inline std::string_view name_of(Backend backend) { return backend == Backend::Cpu ? "cpu" : "webgpu"; }

/// What a device is; doctor prints it and a run records it.
struct DeviceInfo {
  Backend backend = Backend::Cpu;
  std::string name;                   // "NVIDIA H200", "Intel(R) Xeon(R) Processor"
  std::string driver;                 // the adapter's own description; empty for the CPU
  std::string library;                // path of the WebGPU library; the BLAS and its kernel for the CPU
  bool is_software = false;           // a WebGPU adapter that runs on the CPU
  int threads = 0;                    // CPU worker threads
  int64_t memory_bytes = 0;           // 0: unknown
  std::vector<std::string> features;  // optional ones in use: "shader-f16", "subgroups", "timestamp-query", ...
  int64_t max_buffer_bytes = 0;       // largest single allocation
  int64_t max_binding_bytes = 0;      // largest range a kernel can see
  int64_t workgroup_memory_bytes = 0;
  int64_t max_threads_per_workgroup = 0;
  int64_t chunk_bytes = 64 << 20;  // a good size for work taken in pieces: fits the cache of a CPU, fills a GPU

  /// A GPU, and no adapter that runs on the CPU: worth large pieces of work.
  bool is_hardware_gpu() const { return backend == Backend::WebGpu && !is_software; }
};

/// Work and traffic of one launch, for profiles and for bounding a batch in time.
struct KernelCost {
  double flops = 0;
  double bytes = 0;
};

/// One launch, in order.
struct KernelLaunch {
  std::string kernel;
  double milliseconds = 0;
  KernelCost cost;
  std::string pass;     // of a kernel that is several launches; empty: the main one
  std::string variant;  // of its shader; empty on the CPU
};

/// All launches of one kernel since profiling began.
struct KernelTime {
  std::string kernel;
  int64_t launches = 0;
  double milliseconds = 0;
  double flops = 0;
  double bytes = 0;
};

/// A copy to the host that was asked for earlier. Waiting for it does not stop work recorded after it.
class Readback {
 public:
  virtual ~Readback() = default;
  /// Blocks until the bytes are there; bytes.size() must be the size that was asked for.
  virtual void wait(std::span<std::byte> bytes) = 0;
};

class Device;

/// Takes work in order. All calls are from the device's own thread. Errors of the device appear at a later call as Error.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual Device& device() = 0;
  Backend backend();

  /// The bytes are taken before the call returns. Sizes are multiples of 4.
  virtual void upload(const Buffer& to, std::span<const std::byte> bytes) = 0;
  /// Waits for all work before it.
  virtual void download(const Buffer& from, std::span<std::byte> bytes) = 0;
  /// A download that is waited for later.
  virtual std::unique_ptr<Readback> read_later(const Buffer& from) = 0;
  virtual void copy(const Buffer& from, const Buffer& to) = 0;
  virtual void fill_zero(const Buffer& to) = 0;

  /// Hands recorded work to the device without waiting.
  virtual void submit() = 0;
  /// Waits until all work is done; throws what went wrong.
  virtual void wait() = 0;

  /// With profiling on, every launch is timed by itself (slower: measure throughput without).
  virtual void set_profiling(bool on) = 0;
  /// Times since profiling was turned on or last taken, slowest first. Waits.
  std::vector<KernelTime> take_profile();
  /// Every launch since profiling was turned on or last taken, in order. Waits.
  virtual std::vector<KernelLaunch> take_launches() = 0;
};

/// Memory held by a device.
struct MemoryUse {
  int64_t in_use_bytes = 0;  // handed out
  int64_t pooled_bytes = 0;  // kept for reuse
  int64_t peak_bytes = 0;    // most ever held, pool included
  int64_t allocations = 0;   // buffers ever made: constant in a steady training step
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  virtual Stream& stream() = 0;
  /// A whole buffer from the pool; contents undefined. Throws Error with both sizes when it cannot be had.
  /// size_bytes > 0 is rounded up to a multiple of 4. label names it in errors.
  virtual Buffer allocate(int64_t size_bytes, std::string_view label) = 0;
  virtual MemoryUse memory() const = 0;
  /// Gives pooled memory back to the system.
  virtual void trim() = 0;
};

/// A shader of the user (--kernel NAME=FILE) in the place of a kernel's portable form.
struct KernelFile {
  std::string kernel;  // "matmul_t", or "rms_norm_backward/weight" for another pass than the main one
  std::string text;    // WGSL with bindings, entry point `main` and grid as `athanor kernels --wgsl` prints them
};

struct DeviceOptions {
  std::string name = "auto";    // auto, cpu, webgpu, webgpu:N
  int threads = 0;              // CPU workers; 0: all that this process may use
  bool checked = false;         // keep the WebGPU implementation's bounds checks
  bool default_limits = false;  // ask for WebGPU's default limits only (tests)
  bool use_f16 = true;          // shader-f16 where the adapter has it
  bool use_subgroups = true;    // subgroups, and matrices of subgroups, likewise
  double batch_seconds = 0.2;   // bound of one submission
  int64_t memory_bytes = 0;     // --device-memory; 0: what the adapter tells
  std::vector<KernelFile> kernel_files;
  std::vector<std::string> plain_kernels;  // in their portable form alone: the faster ones are wrong on this adapter
  bool rounds_factors =
      false;  // what is run permits it: an adapter's first use is checked for that too (train/checked_device.h)
};

/// Opens the device that the options name. auto: the best hardware adapter through WebGPU; with none, or only a software one, the CPU.
/// Throws Error when a forced device is not there, with what was tried and what to do.
std::unique_ptr<Device> open_device(const DeviceOptions& options = {});

/// One line that says which device is used and why, for the log.
std::string describe(const DeviceInfo& info);

inline Backend Stream::backend() { return device().info().backend; }

}  // namespace athanor::device
