// The check at an adapter's first use: what is wrong is not used, and the verdict is kept.
#include "train/checked_device.h"

#include "base/fault.h"
#include "base/test_folder.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::train {
namespace {

/// Opens the device under test and counts how often, with what.
struct Opener {
  std::vector<std::string> opened;

  CheckedDevice how(const std::filesystem::path& cache) {
    CheckedDevice checked;
    checked.cache = cache;
    checked.check_software = true;
    checked.open = [this](const device::DeviceOptions& options) {
      opened.push_back(options.name + (options.use_f16 ? "+f16" : "") + (options.use_subgroups ? "+subgroups" : ""));
      device::DeviceOptions real = options;
      if (real.name == "auto") real.name = testing::device_options().name;  // auto takes no software adapter
      return device::open_device(real);
    };
    return checked;
  }
};

struct NoFault {
  ~NoFault() { set_fault(""); }
};

device::DeviceOptions options_of(const std::string& name) {
  device::DeviceOptions options = testing::device_options();
  options.name = name;
  return options;
}

TEST(CheckedDevice, ChecksAnAdapterOnceAndKeepsTheVerdict) {
  if (!testing::is_webgpu()) return;  // the CPU is never checked: below
  const TestFolder folder;
  Opener opener;
  open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  const NoFault none;
  set_fault("wrong-kernel");  // not asked again
  open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  EXPECT_THAT(opener.opened, ::testing::ElementsAre("webgpu+f16+subgroups", "webgpu+f16+subgroups"));
}

TEST(CheckedDevice, ChecksRoundedProductsWhenARunPermitsThem) {
  if (!testing::is_webgpu()) return;
  const TestFolder folder;
  Opener opener;
  open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  const NoFault none;
  set_fault("wrong-kernel");  // the verdict on f32 says nothing of them
  device::DeviceOptions options = options_of("auto");
  options.rounds_factors = true;
  EXPECT_EQ(open_checked_device(options, opener.how(folder.path()))->info().backend, device::Backend::Cpu);
}

TEST(CheckedDevice, LeavesOutWhatIsWrongAndThenTheAdapter) {
  if (!testing::is_webgpu()) return;
  const TestFolder folder;
  const NoFault none;
  set_fault("wrong-kernel");
  Opener opener;
  const std::unique_ptr<device::Device> device = open_checked_device(options_of("auto"), opener.how(folder.path()));
  EXPECT_EQ(device->info().backend, device::Backend::Cpu);
  EXPECT_THAT(opener.opened,
              ::testing::ElementsAre("auto+f16+subgroups", "auto+subgroups", "auto", "cpu+f16+subgroups"));
  set_fault("");
  try {  // the verdict is kept, and an adapter that was named is not swapped for another device
    open_checked_device(options_of("webgpu"), opener.how(folder.path()));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("wrong through"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("adamw_update"));
  }
}

TEST(CheckedDevice, TakesTheCpuAsItIs) {
  const TestFolder folder;
  const NoFault none;
  set_fault("wrong-kernel");
  Opener opener;
  open_checked_device(options_of("cpu"), opener.how(folder.path()));
  EXPECT_THAT(opener.opened, ::testing::ElementsAre("cpu+f16+subgroups"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CheckedDevice, MakesADamagedVerdictAnew) {
  if (!testing::is_webgpu()) return;
  const TestFolder folder;
  Opener opener;
  open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    std::filesystem::resize_file(entry.path(), 5);
  }
  EXPECT_NE(open_checked_device(options_of("webgpu"), opener.how(folder.path())), nullptr);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) EXPECT_GT(entry.file_size(), 50U);
}

}  // namespace
}  // namespace athanor::train
