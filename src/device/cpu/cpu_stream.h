// How a kernel reaches the CPU device: plain pointers, worker threads, scratch memory of each worker. Work runs at the call.
#pragma once

#include "device/cpu/thread_pool.h"
#include "device/device.h"

#include <memory>

namespace athanor::device::cpu {

class CpuStream : public Stream {
 public:
  virtual ThreadPool& threads() = 0;
  virtual void record_time(std::string_view kernel, const KernelCost& cost, double milliseconds) = 0;
  virtual bool is_profiling() const = 0;
};

CpuStream& as_cpu(Stream& stream);

/// The buffer's memory as values of T.
template <typename T>
T* data(const Buffer& buffer);
void* raw_data(const Buffer& buffer);
template <typename T>
T* data(const Buffer& buffer) {
  return static_cast<T*>(raw_data(buffer));
}

/// Times one launch for the profile.
class KernelTimer {
 public:
  KernelTimer(CpuStream& stream, std::string_view kernel, const KernelCost& cost);
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;
  ~KernelTimer();

 private:
  CpuStream* stream_;  // nullptr when profiling is off
  std::string_view kernel_;
  KernelCost cost_;
  double start_ = 0;
};

/// The CPU device; opened through open_device.
std::unique_ptr<Device> open_cpu_device(const DeviceOptions& options);

}  // namespace athanor::device::cpu
