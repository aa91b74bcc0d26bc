// Every shader of the doctor's cases, as the launchers choose it, compiled for AMD GPUs by the driver that would run it, without one:
// what a WebGPU implementation or the driver's compiler refuses is found here, the forms on matrix units among it. What they compute is
// judged elsewhere. The family is $RADV_FORCE_FAMILY (null_gpu.c).
#include "device/webgpu/dry_device.h"
#include "device/webgpu/library_search.h"
#include "device/webgpu/pipeline_cache.h"
#include "device/webgpu/shader_text.h"
#include "kernels/kernel_info.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace athanor::kernels {
namespace {

using device::webgpu::Dispatch;
using device::webgpu::DryRun;
using device::webgpu::SubgroupMatrix;

class NullGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* library = std::getenv("ATHANOR_WEBGPU_LIBRARY");
    ASSERT_NE(library, nullptr) << "run by ctest, which names the library";
    std::string why_none;
    std::vector<device::webgpu::Adapter> adapters =
        device::webgpu::find_adapters(library, device::DeviceOptions(), why_none);
    ASSERT_FALSE(adapters.empty()) << why_none;
    ASSERT_NE(adapters.front().name.find("Null hardware"), std::string::npos) << adapters.front().name;
    gpu_.emplace(std::move(adapters.front()), device::DeviceOptions());
    pipelines_.emplace(*gpu_);
  }

  void TearDown() override {
    if (pipelines_) pipelines_->close();
  }

  /// Compiles what the doctor's cases launch on an adapter with these features; returns how many shaders.
  size_t compile_all(const DryRun& like) {
    for (const KernelInfo& kernel : all_kernels()) {
      DryRun run = like;
      run.on_dispatch = [&](const Dispatch& dispatch) { compile(dispatch); };
      const std::unique_ptr<device::Device> dry = device::webgpu::open_dry_device(std::move(run));
      for (const KernelCase& kernel_case : kernel.cases) {
        if (kernel_case.in_doctor) kernel_case.run(dry->stream());
      }
    }
    return seen_.size();
  }

  void compile(const Dispatch& dispatch) {
    if (!seen_.insert(device::webgpu::shader_text(dispatch, gpu_->api().is_dawn)).second) return;
    variants_.insert(dispatch.variant);
    if (dispatch.needs_subgroup_matrix) expect_blocks_in_place(dispatch);
    try {
      pipelines_->find(dispatch);
    } catch (const Error& error) {
      ADD_FAILURE() << dispatch.kernel << '/' << dispatch.pass << ' ' << dispatch.variant << ": " << error.what();
    }
  }

  /// Vulkan wants blocks at multiples of 16 bytes, and an adapter may put a workgroup's variables one behind the other.
  void expect_blocks_in_place(const Dispatch& dispatch) {
    const std::string text = device::webgpu::shader_text(dispatch, true);
    static const std::regex kShort(
        R"(var<workgroup>\s+(\w+)\s*:\s*(u32|i32|f32|f16|bool|atomic<\w+>|vec[23]<\w+>)\s*;)");
    std::smatch found;
    EXPECT_FALSE(std::regex_search(text, found, kShort))
        << dispatch.kernel << '/' << dispatch.pass << ": " << found[1] << " moves what lies behind it";
  }

  std::optional<device::webgpu::Gpu> gpu_;
  std::optional<device::webgpu::PipelineCache> pipelines_;
  std::set<std::string> seen_;
  std::set<std::string> variants_;
};

TEST_F(NullGpu, CompilesEveryPortableShader) { EXPECT_GT(compile_all({}), 100U); }

TEST_F(NullGpu, CompilesEveryShaderOnMatrixUnits) {
  const std::string family = std::getenv("RADV_FORCE_FAMILY");
  if (family == "polaris10") GTEST_SKIP() << "GPUs of 2016 have no matrix units";
  ASSERT_FALSE(gpu_->subgroup_matrices().empty()) << gpu_->info().name;
  DryRun nvidia;
  nvidia.has_f16 = nvidia.has_subgroups = true;
  nvidia.subgroup_matrices = {{SubgroupMatrix::Component::F16, SubgroupMatrix::Component::F32, 16, 16, 16, 32}};
  compile_all(nvidia);
  for (const char* variant : {"medium", "medium_edges", "medium_panels", "high", "high_edges", "high_panels"}) {
    EXPECT_TRUE(variants_.contains(variant)) << variant;
  }
}

}  // namespace
}  // namespace athanor::kernels
