// A device that goes while it works: every later call says so, what it held can be dropped, and a new one can be opened.
#include "device/device_lost.h"
#include "base/expect_error.h"
#include "base/fault.h"
#include "device/webgpu/webgpu_fixture.h"

namespace athanor::device::webgpu {
namespace {

class DeviceLostTest : public WebGpuTest {
 protected:
  void TearDown() override { set_fault(""); }
};

TEST_F(DeviceLostTest, IsThrownByTheSubmissionAndByEveryLaterCall) {
  std::unique_ptr<Device> device = open_device(athanor::testing::device_options());
  const Buffer x = webgpu::buffer_of(*device, std::vector<float>(100, 1.0F));
  const Buffer y = webgpu::buffer_of(*device, std::vector<float>(100, 0.0F));
  device->stream().wait();
  set_fault("device-lost");
  as_webgpu(device->stream()).dispatch(webgpu::add_into(*device, x, y, 1.0F));
  const std::unique_ptr<Readback> readback = device->stream().read_later(y);
  EXPECT_THROW(device->stream().submit(), DeviceLost);
  set_fault("");
  std::vector<float> values(100);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
  EXPECT_THROW(device->stream().wait(), DeviceLost);
  EXPECT_THROW(device->stream().upload(x, bytes), DeviceLost);
  EXPECT_THROW(device->stream().download(x, bytes), DeviceLost);
  EXPECT_THROW(readback->wait(bytes), DeviceLost);
  EXPECT_THROW(device->stream().fill_zero(x), DeviceLost);
  EXPECT_THROW(device->allocate(4, "after"), DeviceLost);
  EXPECT_THROW(device->trim(), DeviceLost);
  EXPECT_THROW(as_webgpu(device->stream()).dispatch(webgpu::add_into(*device, x, y, 1.0F)), DeviceLost);
  try {
    device->stream().wait();
  } catch (const DeviceLost& lost) {
    const std::string text = lost.what();
    EXPECT_TRUE(text.starts_with("device lost: ")) << text;
    EXPECT_NE(text.find(device->info().name), std::string::npos) << text;
  }
  device.reset();

  device = open_device(athanor::testing::device_options());
  const Buffer again = webgpu::buffer_of(*device, {2.0F});
  EXPECT_EQ(webgpu::values_of(*device, again).at(0), 2.0F);
}

TEST_F(DeviceLostTest, IsFoundByADownloadThatWaits) {
  const std::unique_ptr<Device> device = open_device(athanor::testing::device_options());
  const Buffer x = webgpu::buffer_of(*device, {1.0F});
  const Buffer y = webgpu::buffer_of(*device, {0.0F});
  set_fault("device-lost:2");
  as_webgpu(device->stream()).dispatch(webgpu::add_into(*device, x, y, 1.0F));
  device->stream().submit();
  as_webgpu(device->stream()).dispatch(webgpu::add_into(*device, x, y, 1.0F));
  EXPECT_THROW(webgpu::values_of(*device, y), DeviceLost);
}

}  // namespace
}  // namespace athanor::device::webgpu
