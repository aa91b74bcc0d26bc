// Checks what a real stream checks of sizes and grids, so that a listing does not show what would be refused.
#include "device/webgpu/dry_device.h"

#include <algorithm>

namespace athanor::device::webgpu {

namespace {

class DryStorage final : public Storage {
 public:
  DryStorage(int64_t size_bytes, uint64_t id, std::string label) : Storage(size_bytes, id, std::move(label)) {}
};

class DryReadback final : public Readback {
 public:
  void wait(std::span<std::byte> bytes) override { std::fill(bytes.begin(), bytes.end(), std::byte{0}); }
};

class DryStream final : public WebGpuStream {
 public:
  DryStream(Device& device, DryRun run) : device_(device), run_(std::move(run)) {}

  Device& device() override { return device_; }
  const Limits& limits() const override { return run_.limits; }
  bool has_f16() const override { return run_.has_f16; }
  bool has_subgroups() const override { return run_.has_subgroups; }
  std::span<const SubgroupMatrix> subgroup_matrices() const override { return run_.subgroup_matrices; }
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
  void download(const Buffer&, std::span<std::byte> bytes) override { std::fill(bytes.begin(), bytes.end(), std::byte{0}); }
  std::unique_ptr<Readback> read_later(const Buffer&) override { return std::make_unique<DryReadback>(); }
  void copy(const Buffer&, const Buffer&) override {}
  void fill_zero(const Buffer&) override {}
  void submit() override {}
  void wait() override {}
  void set_profiling(bool) override {}
  std::vector<KernelLaunch> take_launches() override { return {}; }

 private:
  Device& device_;
  DryRun run_;
};

class DryDevice final : public Device {
 public:
  explicit DryDevice(DryRun run) : stream_(*this, std::move(run)) {}

  const DeviceInfo& info() const override { return stream_.info(); }
  Stream& stream() override { return stream_; }
  Buffer allocate(int64_t size_bytes, std::string_view label) override {
    check(size_bytes > 0, "allocate: {} bytes asked for {}; a buffer needs at least one value", size_bytes, label);
    const int64_t rounded = (size_bytes + 3) / 4 * 4;
    return {std::make_shared<DryStorage>(rounded, ++last_id_, std::string(label)), 0, rounded};
  }
  MemoryUse memory() const override { return {}; }
  void trim() override {}

 private:
  DryStream stream_;
  uint64_t last_id_ = 0;
};

}  // namespace

std::unique_ptr<Device> open_dry_device(DryRun run) {
  run.info.backend = Backend::WebGpu;
  return std::make_unique<DryDevice>(std::move(run));
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
  }
  return run;
}

}  // namespace athanor::device::webgpu
