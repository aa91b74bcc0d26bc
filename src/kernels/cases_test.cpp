// Every kernel on the device under test: its cases against the plain loop, its benchmark, and that the table is whole.
#include "kernels/kernel_bench.h"
#include "kernels/kernel_forms.h"
#include "kernels/kernel_info.h"
#include "test_device.h"

#include <gtest/gtest.h>

#include <set>

namespace athanor::kernels {
namespace {

class KernelCases : public ::testing::TestWithParam<KernelInfo> {};

TEST_P(KernelCases, AgreeWithThePlainLoop) {
  ASSERT_FALSE(GetParam().cases.empty());
  for (const KernelCase& kernel_case : GetParam().cases) {
    if (testing::short_list() && !kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(testing::stream());
    EXPECT_TRUE(result.passed()) << GetParam().name << ", " << kernel_case.name << ": error " << result.largest_error
                                 << ", allowed " << result.allowed_error << " at " << result.where;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelCases, ::testing::ValuesIn(all_kernels()),
                         [](const ::testing::TestParamInfo<KernelInfo>& info) { return info.param.name; });

TEST(KernelTable, HasADoctorCaseForEveryKernel) {
  for (const KernelInfo& kernel : all_kernels()) {
    bool found = false;
    for (const KernelCase& kernel_case : kernel.cases) found |= kernel_case.in_doctor;
    EXPECT_TRUE(found) << kernel.name;
  }
}

TEST(KernelTable, HasEveryNameOfTheCatalogueOnce) {
  // The names that other WebGPU training engines use; people compare kernel by kernel.
  std::set<std::string> wanted = {"add",
                                  "sub",
                                  "mul",
                                  "add_backward",
                                  "sub_backward",
                                  "mul_backward",
                                  "relu",
                                  "silu",
                                  "gelu",
                                  "relu_backward",
                                  "silu_backward",
                                  "gelu_backward",
                                  "silu_gate",
                                  "gelu_gate",
                                  "silu_gate_backward",
                                  "gelu_gate_backward",
                                  "softmax",
                                  "softmax_backward",
                                  "rms_norm",
                                  "rms_norm_backward",
                                  "rms_norm_residual",
                                  "rms_norm_residual_backward",
                                  "rope",
                                  "rope_backward",
                                  "embedding",
                                  "embedding_backward",
                                  "cross_entropy",
                                  "cross_entropy_backward",
                                  "mse_loss",
                                  "mse_loss_backward",
                                  "conv1d",
                                  "conv1d_backward",
                                  "attention",
                                  "attention_backward",
                                  "attention_decode",
                                  "gradient_norm_squared",
                                  "finalize_grad_stats",
                                  "clip_grad_by_norm",
                                  "gradient_scale",
                                  "gradient_accumulate",
                                  "sgd_update",
                                  "adamw_update",
                                  "adamw_update_f16",
                                  "adamw_8bit_update",
                                  "muon_update",
                                  "ema_update",
                                  "dropout",
                                  "dropout_backward",
                                  "copy",
                                  "fp32_to_fp16",
                                  "fp16_to_fp32",
                                  "dequantize",
                                  "affine_dequantize",
                                  "matmul_q8",
                                  "matmul_q4",
                                  "top_k",
                                  "sample"};
  for (const char* product : {"matmul", "matmul_acc", "matmul_t", "matmul_t_acc", "matmul_at", "matmul_at_acc",
                              "matmul_at_swiglu_a", "matmul_at_acc_swiglu_a", "matmul_swiglu_a"}) {
    wanted.insert(product);
    wanted.insert(std::string(product) + "_w16");
  }
  std::set<std::string> there;
  for (const KernelInfo& kernel : all_kernels()) {
    EXPECT_TRUE(there.insert(kernel.name).second) << kernel.name << " is there twice";
    EXPECT_FALSE(kernel.folder.empty()) << kernel.name;
  }
  for (const std::string& name : wanted) EXPECT_TRUE(there.contains(name)) << name << " is missing";
}

TEST(KernelTable, TellsBindingsWorkgroupAndGridOfEveryFormAndStaysWithinTheDefaultLimits) {
  std::set<std::string> portable;
  for (const KernelForm& form : kernel_forms(nullptr)) {
    const std::string where = form.name() + " " + form.variant;
    ASSERT_EQ(form.facts.workgroup.size(), 3U) << where;
    EXPECT_LE(form.facts.workgroup[0] * form.facts.workgroup[1] * form.facts.workgroup[2], 256U) << where;
    EXPECT_FALSE(form.facts.grid.empty()) << where;
    int64_t storage = 0;
    for (size_t i = 0; i < form.facts.bindings.size(); ++i) {
      EXPECT_EQ(form.facts.bindings[i].index, i) << where;
      EXPECT_FALSE(form.facts.bindings[i].description.empty()) << where << ", binding " << i;
      storage += form.facts.bindings[i].access == "uniform" ? 0 : 1;
    }
    EXPECT_GT(storage, 0) << where;
    EXPECT_LE(storage, 8) << where;
    EXPECT_FALSE(form.needs_f16 || form.needs_subgroups) << where << " on a device without either";
    if (form.variant == "portable") portable.insert(form.kernel);
  }
  for (const KernelInfo& kernel : all_kernels()) {
    // muon_update is made of other kernels' launches beside its own.
    EXPECT_TRUE(portable.contains(kernel.name)) << kernel.name << " has no portable form among its doctor cases";
  }
}

TEST(KernelTable, JudgesThePortableFormOfEveryKernelOnSeveralWorkgroups) {
  // A wrong index of the workgroup shows from the second one on, and a user's file is judged on these cases alone.
  const std::set<std::string> of_one_group = {"finalize_grad_stats", "sum/total"};
  for (const KernelForm& form : kernel_forms(nullptr)) {
    if (form.variant != "portable" || of_one_group.contains(form.name())) continue;
    if (!form.pass.empty()) continue;
    EXPECT_GT(form.most_workgroups, 1) << form.name();
  }
}

TEST(KernelBenches, RunAndCountTheirWork) {
  for (const KernelInfo& kernel : all_kernels()) {
    ASSERT_TRUE(static_cast<bool>(kernel.bench)) << kernel.name;
    const KernelBench bench = kernel.bench(testing::stream(), 1 << 20);
    bench.launch();
    testing::stream().wait();
    EXPECT_GT(bench.cost.bytes, 0) << kernel.name;
    EXPECT_FALSE(bench.sizes.empty()) << kernel.name;
    EXPECT_TRUE(bench.element_bytes == 1 || bench.element_bytes == 2 || bench.element_bytes == 4) << kernel.name;
  }
  testing::device().trim();
}

}  // namespace
}  // namespace athanor::kernels
