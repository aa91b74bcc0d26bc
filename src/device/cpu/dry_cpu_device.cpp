// Launchers may touch a few values outside of the workers, so buffers have addresses; the system gives pages only to what is touched.
#include "device/cpu/dry_cpu_device.h"

#include "device/cpu/cpu_storage.h"
#include "device/cpu/cpu_stream.h"
#include "device/cpu/memory_pool.h"

#include <algorithm>
#include <cstdlib>

namespace athanor::device::cpu {

namespace {

class DryStorage final : public CpuStorage {
 public:
  DryStorage(std::shared_ptr<DryMemory> counted, DryMemory::Block block, void* memory, uint64_t id, std::string label)
      : CpuStorage(memory, block.class_bytes, id, std::move(label)), counted_(std::move(counted)), block_(block) {}
  ~DryStorage() override {
    counted_->give_back(block_, label());
    std::free(memory());
  }

 private:
  std::shared_ptr<DryMemory> counted_;
  DryMemory::Block block_;
};

class ZeroReadback final : public Readback {
 public:
  void wait(std::span<std::byte> bytes) override { std::fill(bytes.begin(), bytes.end(), std::byte{0}); }
};

class DryCpuStream final : public CpuStream {
 public:
  DryCpuStream(Device& device, int threads) : device_(device), threads_(threads, ThreadPool::Work::Skip) {}

  Device& device() override { return device_; }
  ThreadPool& threads() override { return threads_; }
  bool is_profiling() const override { return false; }
  void record_time(std::string_view, const KernelCost&, double) override {}
  void upload(const Buffer&, std::span<const std::byte>) override {}
  void download(const Buffer&, std::span<std::byte> bytes) override { ZeroReadback().wait(bytes); }
  std::unique_ptr<Readback> read_later(const Buffer&) override { return std::make_unique<ZeroReadback>(); }
  void copy(const Buffer&, const Buffer&) override {}
  void fill_zero(const Buffer&) override {}
  void submit() override {}
  void wait() override {}
  void set_profiling(bool) override {}
  std::vector<KernelLaunch> take_launches() override { return {}; }

 private:
  Device& device_;
  ThreadPool threads_;
};

class DryCpuDevice final : public Device {
 public:
  DryCpuDevice(const DeviceInfo& like, std::shared_ptr<DryMemory> counted)
      : info_(like), counted_(std::move(counted)), stream_(*this, like.threads) {}

  const DeviceInfo& info() const override { return info_; }
  Stream& stream() override { return stream_; }
  MemoryUse memory() const override { return counted_->use(); }
  void trim() override {}

  Buffer allocate(int64_t size_bytes, std::string_view label) override {
    check(size_bytes > 0, "allocate: {} bytes asked for {}; a buffer needs at least one value", size_bytes, label);
    const int64_t rounded = (size_bytes + 3) / 4 * 4;
    void* memory = std::aligned_alloc(64, static_cast<size_t>((rounded + 63) / 64 * 64));
    check(memory != nullptr, "{}: {} bytes are more than this machine can give; take a smaller batch, context or model",
          label, rounded);
    const DryMemory::Block block = counted_->take(rounded, label);
    return {std::make_shared<DryStorage>(counted_, block, memory, ++last_id_, std::string(label)), 0, rounded};
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<DryMemory> counted_;
  DryCpuStream stream_;
  uint64_t last_id_ = 0;
};

}  // namespace

DryDevice open_dry_cpu_device(const DeviceInfo& like) {
  auto counted = std::make_shared<DryMemory>(size_class);
  return {std::make_unique<DryCpuDevice>(like, counted), counted};
}

}  // namespace athanor::device::cpu
