// Joins the parts and ends them in order: work, buffers, device; callbacks write into the parts until the last of these.
#include "device/webgpu/webgpu_device.h"

#include "device/webgpu/buffer_pool.h"
#include "device/webgpu/recording_stream.h"

namespace athanor::device::webgpu {

namespace {

class WebGpuDevice final : public Device {
 public:
  WebGpuDevice(Adapter adapter, const DeviceOptions& options)
      : gpu_(std::move(adapter), options),
        pool_(std::make_shared<BufferPool>(gpu_)),
        stream_(*this, gpu_, *pool_, options) {
    pool_->before_release = [this] { stream_.submit(); };
    pool_->after_release = [this](std::span<const uint64_t> ids) { stream_.forget_buffers(ids); };
  }

  ~WebGpuDevice() override {
    stream_.close();
    pool_->close();
    gpu_.close();
  }

  const DeviceInfo& info() const override { return gpu_.info(); }
  Stream& stream() override { return stream_; }

  Buffer allocate(int64_t size_bytes, std::string_view label) override {
    gpu_.check_thread("allocate");
    gpu_.check_alive("allocate");
    check(size_bytes > 0, "allocate: {} bytes asked for {}; a buffer needs at least one value", size_bytes, label);
    return pool_->take((size_bytes + 3) / 4 * 4, label);
  }

  MemoryUse memory() const override {
    MemoryUse use = pool_->use();
    use.allocations += stream_.staging().allocations();
    use.pooled_bytes += stream_.staging().held_bytes();
    use.peak_bytes += stream_.staging().held_bytes();
    return use;
  }

  void trim() override {
    gpu_.check_thread("trim");
    gpu_.check_alive("trim");
    pool_->trim();
    stream_.trim();
  }

 private:
  Gpu gpu_;
  std::shared_ptr<BufferPool> pool_;  // shared with the buffers, which may outlive the device
  RecordingStream stream_;
};

}  // namespace

std::unique_ptr<Device> open_webgpu_device(Adapter adapter, const DeviceOptions& options) {
  return std::make_unique<WebGpuDevice>(std::move(adapter), options);
}

}  // namespace athanor::device::webgpu
