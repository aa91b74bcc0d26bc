// The CPU device: memory from a pool by size class, work done at the call, so every order question answers itself.
#include "base/host.h"
#include "device/cpu/blas.h"
#include "device/cpu/cpu_storage.h"
#include "device/cpu/cpu_stream.h"
#include "device/cpu/memory_pool.h"
#include "device/cpu/simd.h"
#include "device/read_back.h"

#include <cstring>
#include <thread>
#include <utility>

namespace athanor::device::cpu {

namespace {

class PooledStorage final : public CpuStorage {
 public:
  PooledStorage(std::shared_ptr<MemoryPool> pool, MemoryPool::Block block, std::string label)
      : CpuStorage(block.memory, block.size_bytes, block.id, std::move(label)), pool_(std::move(pool)), block_(block) {}
  ~PooledStorage() override { pool_->give_back(block_); }

 private:
  std::shared_ptr<MemoryPool> pool_;
  MemoryPool::Block block_;
};

class CpuReadback : public Readback {
 public:
  explicit CpuReadback(const Buffer& from) {
    const auto* bytes = static_cast<const std::byte*>(raw_data(from));
    bytes_.assign(bytes, bytes + from.size_bytes());
  }
  void wait(std::span<std::byte> bytes) override {
    check(bytes.size() == bytes_.size(), "readback: {} bytes were asked for but {} are taken", bytes_.size(),
          bytes.size());
    std::copy(bytes_.begin(), bytes_.end(), bytes.begin());
  }

 private:
  std::vector<std::byte> bytes_;
};

class CpuDevice;

class CpuStreamImpl : public CpuStream, public ReadBackCounter {
 public:
  CpuStreamImpl(CpuDevice& device, int threads) : device_(device), threads_(threads) {}

  Device& device() override;
  ThreadPool& threads() override;
  void upload(const Buffer& to, std::span<const std::byte> bytes) override;
  void download(const Buffer& from, std::span<std::byte> bytes) override;
  std::unique_ptr<Readback> read_later(const Buffer& from) override;
  void copy(const Buffer& from, const Buffer& to) override;
  void fill_zero(const Buffer& to) override;
  void submit() override {}
  void wait() override {}
  void set_profiling(bool on) override;
  bool is_profiling() const override { return profiling_; }
  std::vector<KernelLaunch> take_launches() override;
  void record_time(std::string_view kernel, const KernelCost& cost, double milliseconds) override;

 private:
  CpuDevice& device_;
  ThreadPool threads_;
  bool profiling_ = false;
  std::vector<KernelLaunch> launches_;
};

class CpuDevice : public Device {
 public:
  CpuDevice(const DeviceOptions& options, int threads)
      : owner_(std::this_thread::get_id()),
        pool_(std::make_shared<MemoryPool>(options.memory_bytes > 0 ? options.memory_bytes : total_memory_bytes())),
        stream_(*this, threads) {
    info_.backend = Backend::Cpu;
    info_.name = cpu_name();
    info_.library = blas_description();
    info_.threads = threads;
    info_.memory_bytes = options.memory_bytes > 0 ? options.memory_bytes : total_memory_bytes();
    info_.max_buffer_bytes = info_.memory_bytes;
    info_.max_binding_bytes = info_.memory_bytes;
    info_.features = {simd_level()};
    info_.chunk_bytes = 4 << 20;  // logits of a chunk stay in the second-level caches
  }

  const DeviceInfo& info() const override { return info_; }
  Stream& stream() override { return stream_; }
  MemoryUse memory() const override { return pool_->use(); }
  void trim() override { pool_->trim(); }

  Buffer allocate(int64_t size_bytes, std::string_view label) override {
    check_thread();
    check(size_bytes > 0, "allocate: {} bytes asked for {}; a buffer needs at least one value", size_bytes, label);
    const int64_t rounded = (size_bytes + 3) / 4 * 4;
    const MemoryPool::Block block = pool_->take(rounded, label);
    return {std::make_shared<PooledStorage>(pool_, block, std::string(label)), 0, rounded};
  }

  void check_thread() const {
    check(std::this_thread::get_id() == owner_,
          "device: called from a thread other than the one that opened it; a device belongs to one thread, open "
          "another for this one");
  }

 private:
  static std::string simd_level() {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
    return "sse4.2";
#else
    return "baseline";
#endif
  }

  std::thread::id owner_;
  DeviceInfo info_;
  std::shared_ptr<MemoryPool> pool_;
  CpuStreamImpl stream_;
};

void check_copy_size(const char* what, const Buffer& buffer, size_t bytes) {
  check(buffer.size_bytes() == static_cast<int64_t>(bytes), "{}: the buffer has {} bytes but {} were given", what,
        buffer.size_bytes(), bytes);
}

Device& CpuStreamImpl::device() { return device_; }

ThreadPool& CpuStreamImpl::threads() {
  device_.check_thread();
  return threads_;
}

void CpuStreamImpl::upload(const Buffer& to, std::span<const std::byte> bytes) {
  device_.check_thread();
  check_copy_size("upload", to, bytes.size());
  std::memcpy(raw_data(to), bytes.data(), bytes.size());
}

void CpuStreamImpl::download(const Buffer& from, std::span<std::byte> bytes) {
  device_.check_thread();
  check_copy_size("download", from, bytes.size());
  count_read_back(from.size_bytes());
  std::memcpy(bytes.data(), raw_data(from), bytes.size());
}

std::unique_ptr<Readback> CpuStreamImpl::read_later(const Buffer& from) {
  device_.check_thread();
  count_read_back(from.size_bytes());
  return std::make_unique<CpuReadback>(from);
}

void CpuStreamImpl::copy(const Buffer& from, const Buffer& to) {
  device_.check_thread();
  check_copy_size("copy", to, static_cast<size_t>(from.size_bytes()));
  std::memmove(raw_data(to), raw_data(from), static_cast<size_t>(from.size_bytes()));
}

void CpuStreamImpl::fill_zero(const Buffer& to) {
  device_.check_thread();
  std::memset(raw_data(to), 0, static_cast<size_t>(to.size_bytes()));
}

void CpuStreamImpl::set_profiling(bool on) {
  profiling_ = on;
  launches_.clear();
}

std::vector<KernelLaunch> CpuStreamImpl::take_launches() { return std::exchange(launches_, {}); }

void CpuStreamImpl::record_time(std::string_view kernel, const KernelCost& cost, double milliseconds) {
  launches_.push_back({std::string(kernel), milliseconds, cost, {}, {}});
}

}  // namespace

CpuStream& as_cpu(Stream& stream) { return static_cast<CpuStream&>(stream); }

void* raw_data(const Buffer& buffer) {
  auto* storage = static_cast<CpuStorage*>(buffer.storage().get());
  return static_cast<std::byte*>(storage->memory()) + buffer.offset_bytes();
}

KernelTimer::KernelTimer(CpuStream& stream, std::string_view kernel, const KernelCost& cost)
    : stream_(stream.is_profiling() ? &stream : nullptr), kernel_(kernel), cost_(cost) {
  if (stream_ != nullptr) start_ = now_seconds();
}

KernelTimer::~KernelTimer() {
  if (stream_ != nullptr) stream_->record_time(kernel_, cost_, (now_seconds() - start_) * 1e3);
}

std::unique_ptr<Device> open_cpu_device(const DeviceOptions& options) {
  check(options.kernel_files.empty(),
        "--kernel: {} stands for a WGSL shader but the device is the CPU; choose --device webgpu",
        options.kernel_files.empty() ? "" : options.kernel_files.front().kernel);
  check(options.threads >= 0 && options.threads <= 1024, "device: {} threads; pass 1 to 1024, or 0 for all",
        options.threads);
  return std::make_unique<CpuDevice>(options, options.threads > 0 ? options.threads : available_threads());
}

}  // namespace athanor::device::cpu
