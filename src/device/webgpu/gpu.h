// One adapter with its logical device and queue: the instance, the callbacks and what they stored, waiting, error scopes.
// Callbacks never throw: they store here, and check_alive() throws at the next call.
#pragma once

#include "device/device.h"
#include "device/webgpu/api.h"
#include "device/webgpu/owned.h"
#include "device/webgpu/webgpu_stream.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace athanor::device::webgpu {

/// An adapter that was found, with the instance it came from.
struct Adapter {
  std::shared_ptr<const Api> api;
  std::shared_ptr<Owned<WGPUInstance>> instance;
  Owned<WGPUAdapter> adapter;
  std::string name;
  std::string driver;
  WGPUBackendType backend = WGPUBackendType_Undefined;
  WGPUAdapterType type = WGPUAdapterType_Unknown;
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;

  bool is_software() const { return type == WGPUAdapterType_CPU; }
};

/// The adapters of one library, best first: discrete, integrated, unknown, software. why_none tells what the library said when there
/// is none.
std::vector<Adapter> find_adapters(const std::filesystem::path& library, const DeviceOptions& options,
                                   std::string& why_none);

/// What callbacks stored.
class Incidents {
 public:
  void store_error(std::string text);
  void store_loss(std::string text);
  bool any() const { return any_; }  // read at every launch, so without a lock
  bool is_lost() const { return lost_; }
  std::string loss() const;
  std::string take_error();  // empty when there is none

 private:
  mutable std::mutex lock_;
  std::string error_;
  std::string loss_;
  std::atomic<bool> any_{false};
  std::atomic<bool> lost_{false};
};

class Gpu {
 public:
  /// Asks the adapter for a device with its limits and the optional features that athanor uses. Throws Error with the runtime's text.
  Gpu(Adapter adapter, const DeviceOptions& options);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  const Api& api() const { return *adapter_.api; }
  WGPUDevice device() const { return device_.get(); }
  WGPUQueue queue() const { return queue_.get(); }
  const WGPULimits& limits() const { return limits_; }
  const DeviceInfo& info() const { return info_; }
  bool has_f16() const { return has_f16_; }
  bool has_subgroups() const { return has_subgroups_; }
  bool has_timestamps() const { return has_timestamps_; }
  std::span<const SubgroupMatrix> subgroup_matrices() const { return subgroup_matrices_; }
  bool is_checked() const { return checked_; }
  Incidents& incidents() { return *incidents_; }

  /// Throws unless the calling thread is the one that opened the device.
  void check_thread(const char* call) const;
  /// Throws DeviceLost or the error that a callback stored; `doing` names the last work, for the message.
  void check_alive(std::string_view doing);
  /// Lets callbacks run.
  void poll();
  /// Polls until done() holds; throws DeviceLost when the device goes meanwhile.
  template <typename Done>
  void wait_until(Done done) {
    for (int rounds = 0; !done(); ++rounds) {
      poll();
      if (done()) return;
      throw_if_lost();
      rest(rounds);
    }
  }
  /// Runs make() and returns the errors it brought, in the runtime's words; empty when there were none.
  template <typename Make>
  std::string errors_of(Make make) {
    push_error_scopes();
    make();
    return pop_error_scopes();
  }
  void throw_if_lost();
  /// Ends the device; all objects made from it must have been released. Callback targets may be destroyed after it.
  void close();
  /// For the fault hook and tests: the device goes as by a driver's reset.
  void lose();

 private:
  void request_device(const DeviceOptions& options);
  void fill_info(const DeviceOptions& options);
  int64_t adapter_memory_bytes() const;
  std::vector<SubgroupMatrix> adapter_subgroup_matrices() const;
  void push_error_scopes();
  std::string pop_error_scopes();
  void rest(int rounds) const;

  // First in, last out: callbacks may still write here while the members below are released.
  std::unique_ptr<Incidents> incidents_ = std::make_unique<Incidents>();
  Adapter adapter_;
  Owned<WGPUDevice> device_;
  Owned<WGPUQueue> queue_;
  WGPULimits limits_ = WGPU_LIMITS_INIT;
  DeviceInfo info_;
  std::thread::id owner_ = std::this_thread::get_id();
  bool has_f16_ = false;
  bool has_subgroups_ = false;
  bool has_timestamps_ = false;
  std::vector<SubgroupMatrix> subgroup_matrices_;
  bool checked_ = false;
};

}  // namespace athanor::device::webgpu
