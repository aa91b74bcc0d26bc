// Checks what a real stream checks of sizes and grids, so that a listing does not show what would be refused.
#include "device/webgpu/dry_device.h"

#include "device/webgpu/buffer_pool.h"

#include <algorithm>

namespace athanor::device::webgpu {

namespace {

constexpr int64_t kDownloadPart = 32 << 20;  // as the real stream cuts them (transfer.cpp)
constexpr std::string_view kStaging = "download staging";

class DryStorage final : public Storage {
 public:
  DryStorage(std::shared_ptr<DryMemory> counted, int64_t size_bytes, uint64_t id, std::string label)
      : Storage(size_bytes, id, std::move(label)),
        counted_(std::move(counted)),
        block_(counted_->take(size_bytes, this->label())) {}
  ~DryStorage() override { counted_->give_back(block_, label()); }

 private:
  std::shared_ptr<DryMemory> counted_;
  DryMemory::Block block_;
};

/// A staging buffer in use.
class DryStaging {
 public:
  DryStaging(std::shared_ptr<DryMemory> counted, int64_t size_bytes)
      : counted_(std::move(counted)), block_(counted_->take(size_bytes, kStaging)) {}
  DryStaging(const DryStaging&) = delete;
  DryStaging& operator=(const DryStaging&) = delete;
  ~DryStaging() { counted_->give_back(block_, kStaging); }

 private:
  std::shared_ptr<DryMemory> counted_;
  DryMemory::Block block_;
};

class DryReadback final : public Readback {
 public:
  DryReadback(std::shared_ptr<DryMemory> staging, int64_t size_bytes)
      : slot_(std::make_unique<DryStaging>(std::move(staging), size_bytes)) {}
  void wait(std::span<std::byte> bytes) override {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    slot_.reset();
  }

 private:
  std::unique_ptr<DryStaging> slot_;
};

class DryStream final : public WebGpuStream {
 public:
  DryStream(Device& device, DryRun run) : device_(device), run_(std::move(run)) { use_choices(run_.choices); }

  Device& device() override { return device_; }
  const Limits& limits() const override { return run_.limits; }
  bool has_f16() const override { return run_.has_f16; }
  bool has_subgroups() const override { return run_.has_subgroups; }
  std::span<const SubgroupMatrix> subgroup_matrices() const override { return run_.subgroup_matrices; }
  const KernelNames& portable_kernels() const override { return run_.portable_kernels; }
  int64_t choose(const Choice& choice) const override {
    const int64_t answer = WebGpuStream::choose(choice);
    if (run_.on_choice) run_.on_choice(choice, answer);
    return answer;
  }
  void set_max_workgroups(uint32_t limit) override { run_.limits.max_workgroups_per_dimension = limit; }
  const DeviceInfo& info() const { return run_.info; }

  void enter(std::string_view kernel, const KernelCost& cost) override {
    if (run_.on_door) run_.on_door(kernel, cost);
  }
  void dispatch(const Dispatch& dispatch) override {
    if (dispatch.grid.x == 0 || dispatch.grid.y == 0 || dispatch.grid.z == 0) return;
    for (const Binding& binding : dispatch.bindings) {
      check(binding.buffer.size_bytes() <= run_.limits.max_binding_bytes,
            "{}: {} has {} bytes but at most {} can be bound", dispatch.kernel, binding.buffer.storage()->label(),
            binding.buffer.size_bytes(), run_.limits.max_binding_bytes);
    }
    if (run_.on_dispatch) run_.on_dispatch(dispatch);
  }

  void upload(const Buffer&, std::span<const std::byte>) override {}
  void download(const Buffer&, std::span<std::byte> bytes) override {
    std::unique_ptr<DryStaging> before;
    for (std::span<std::byte> rest = bytes; !rest.empty();) {
      const size_t part = std::min<size_t>(kDownloadPart, rest.size());
      before = std::make_unique<DryStaging>(run_.staging, static_cast<int64_t>(part));  // the one before goes then
      for (std::byte& byte : rest.first(part)) byte = std::byte{0};
      rest = rest.subspan(part);
    }
  }
  std::unique_ptr<Readback> read_later(const Buffer& from) override {
    return std::make_unique<DryReadback>(run_.staging, from.size_bytes());
  }
  void copy(const Buffer& from, const Buffer& to) override {
    if (from.size_bytes() > 0 && from.storage() == to.storage())
      device_.allocate(from.size_bytes(), "copy within one buffer");  // as the real stream does
  }
  void fill_zero(const Buffer&) override {}
  void submit() override {}
  void wait() override {}
  void set_profiling(bool) override {}
  std::vector<KernelLaunch> take_launches() override { return {}; }

 private:
  Device& device_;
  DryRun run_;
};

class DryWebGpuDevice final : public Device {
 public:
  explicit DryWebGpuDevice(DryRun run) : memory_(run.memory), staging_(run.staging), stream_(*this, std::move(run)) {}

  const DeviceInfo& info() const override { return stream_.info(); }
  Stream& stream() override { return stream_; }
  Buffer allocate(int64_t size_bytes, std::string_view label) override {
    check(size_bytes > 0, "allocate: {} bytes asked for {}; a buffer needs at least one value", size_bytes, label);
    const int64_t rounded = (size_bytes + 3) / 4 * 4;
    const int64_t largest = info().max_buffer_bytes;
    check(largest == 0 || rounded <= largest,
          "{}: a buffer of {} bytes is needed but {} gives at most {} in one; use a smaller batch or model", label,
          rounded, info().name, largest);
    return {std::make_shared<DryStorage>(memory_, rounded, ++last_id_, std::string(label)), 0, rounded};
  }
  MemoryUse memory() const override {
    MemoryUse use = memory_->use();
    const int64_t staged = staging_->use().peak_bytes;  // kept once made
    use.allocations += staging_->use().allocations;
    use.pooled_bytes += staged;
    use.peak_bytes += staged;
    return use;
  }
  void trim() override {}

 private:
  std::shared_ptr<DryMemory> memory_;
  std::shared_ptr<DryMemory> staging_;
  DryStream stream_;
  uint64_t last_id_ = 0;
};

}  // namespace

std::shared_ptr<DryMemory> dry_memory_of(const DeviceInfo& info) {
  return std::make_shared<DryMemory>([largest = info.max_buffer_bytes](int64_t size_bytes) {
    const int64_t bytes = size_class(size_bytes);
    return largest > 0 ? std::min(bytes, largest / 4 * 4) : bytes;
  });
}

std::unique_ptr<Device> open_dry_device(DryRun run) {
  run.info.backend = Backend::WebGpu;
  if (!run.memory) run.memory = dry_memory_of(run.info);
  if (!run.staging) run.staging = std::make_shared<DryMemory>(size_class);
  return std::make_unique<DryWebGpuDevice>(std::move(run));
}

DryRun dry_run_of(Device& device) {
  DryRun run;
  run.info = device.info();
  if (run.info.backend == Backend::WebGpu) {
    const WebGpuStream& stream = as_webgpu(device.stream());
    run.limits = stream.limits();
    run.has_f16 = stream.has_f16();
    run.has_subgroups = stream.has_subgroups();
    run.subgroup_matrices.assign(stream.subgroup_matrices().begin(), stream.subgroup_matrices().end());
    run.portable_kernels = stream.portable_kernels();
    run.choices = stream.choices();
  }
  return run;
}

}  // namespace athanor::device::webgpu
