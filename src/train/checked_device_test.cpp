// The check at an adapter's first use: what is wrong is not used, and the verdict is kept.
#include "train/checked_device.h"

#include "base/atomic_file.h"
#include "base/fault.h"
#include "base/test_folder.h"
#include "kernels/kernel_forms.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

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
      opened.push_back(options.name + (options.use_f16 ? "+f16" : "") + (options.use_subgroups ? "+subgroups" : "") +
                       (options.plain_kernels.empty() ? "" : "-forms"));
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
  EXPECT_THAT(opener.opened, ::testing::ElementsAre("auto+f16+subgroups", "auto+f16+subgroups-forms", "auto+subgroups",
                                                    "auto+subgroups-forms", "auto", "auto-forms", "cpu+f16+subgroups"));
  set_fault("");
  try {  // the verdict is kept, and an adapter that was named is not swapped for another device
    open_checked_device(options_of("webgpu"), opener.how(folder.path()));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("wrong through"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("adamw_update"));
  }
}

/// The variants in which a kernel is launched by its short cases.
std::set<std::string> variants_of(device::Device& device, std::string_view kernel) {
  std::set<std::string> variants;
  for (const kernels::KernelForm& form : kernels::kernel_forms(&device, [&](auto name) { return name == kernel; }))
    variants.insert(form.pass + (form.pass.empty() ? "" : "/") + form.variant);
  return variants;
}

TEST(CheckedDevice, LeavesTheFasterFormsOfTheOneKernelThatIsWrong) {
  if (!testing::is_webgpu()) return;
  const TestFolder folder;
  const NoFault none;
  set_fault("wrong-forms-of-matmul_t");
  Opener opener;
  const std::unique_ptr<device::Device> device = open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  EXPECT_THAT(opener.opened, ::testing::ElementsAre("webgpu+f16+subgroups", "webgpu+f16+subgroups-forms"));
  EXPECT_TRUE(kernels::keeps_portable(device->stream(), "matmul_t"));
  EXPECT_FALSE(kernels::keeps_portable(device->stream(), "matmul"));
  EXPECT_THAT(variants_of(*device, "matmul_t"), ::testing::Not(::testing::Contains("split_k")));
  EXPECT_THAT(variants_of(*device, "matmul"), ::testing::Contains("split_k"));
  EXPECT_EQ(device->info().features, testing::device().info().features);  // nothing else is given up
}

TEST(CheckedDevice, LooksAtTheKernelsOfMixedPrecisionToo) {
  if (!testing::is_webgpu()) return;
  const TestFolder folder;
  const NoFault none;
  set_fault("wrong-forms-of-matmul_t_w16");
  Opener opener;
  const std::unique_ptr<device::Device> device = open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  EXPECT_TRUE(kernels::keeps_portable(device->stream(), "matmul_t_w16"));
}

TEST(CheckedDevice, LeavesTheSameFormsByAVerdictThatIsKept) {
  if (!testing::is_webgpu()) return;
  const TestFolder folder;
  const NoFault none;
  set_fault("wrong-forms-of-matmul_t");
  Opener opener;
  open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  set_fault("");  // another process finds the verdict
  opener.opened.clear();
  ::testing::internal::CaptureStderr();
  const std::unique_ptr<device::Device> device = open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(::testing::HasSubstr("faster forms of matmul_t;"), ::testing::HasSubstr("doctor")));
  EXPECT_THAT(opener.opened, ::testing::ElementsAre("webgpu+f16+subgroups", "webgpu+f16+subgroups-forms"));
  EXPECT_TRUE(kernels::keeps_portable(device->stream(), "matmul_t"));
  EXPECT_FALSE(kernels::keeps_portable(device->stream(), "matmul_t_acc"));
}

TEST(CheckedDevice, MakesAVerdictThatSaysWhatCannotBeAnew) {
  if (!testing::is_webgpu()) return;
  const TestFolder folder;
  Opener opener;
  open_checked_device(options_of("webgpu"), opener.how(folder.path()));
  const std::filesystem::path path = std::filesystem::directory_iterator(folder.path())->path();
  for (const char* odd : {
           R"({"version": 1, "use": "everything", "plain": [], "wrong": []})",
           R"({"version": 2, "use": "everything", "plain": ["no_such_kernel"], "wrong": ["no_such_kernel"]})",
           R"({"version": 2, "use": "everything", "plain": "matmul", "wrong": ["matmul"]})",
           R"({"version": 2, "use": "nothing", "plain": [], "wrong": []})",
           R"([])",
       }) {
    write_file(path, odd);
    const std::unique_ptr<device::Device> device = open_checked_device(options_of("webgpu"), opener.how(folder.path()));
    EXPECT_FALSE(kernels::keeps_portable(device->stream(), "matmul")) << odd;
    EXPECT_GT(std::filesystem::file_size(path), 150U) << odd;
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
