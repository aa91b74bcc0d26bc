// doctor on the CPU: every kernel is listed with its error.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/run_for_test.h"
#include "kernels/kernel_info.h"

namespace athanor::cli {
namespace {

TEST(DoctorCommand, ComparesEveryKernelAndPrintsErrorAndAllowance) {
  const Outcome outcome = run_line({"doctor", "--device", "cpu", "--json"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(report["devices"].size(), 1U);
  const nlohmann::json& listed = report["devices"][0]["kernels"];
  const std::vector<kernels::KernelInfo> table = kernels::all_kernels();
  ASSERT_EQ(listed.size(), table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(listed[i]["name"], table[i].name);
    EXPECT_TRUE(listed[i]["passed"]) << listed[i];
    EXPECT_GE(listed[i]["allowed_error"], 0) << listed[i];  // 0 where bits must be right: casts
    EXPECT_LE(listed[i]["largest_error"], listed[i]["allowed_error"]) << listed[i];
  }
  EXPECT_NE(report["system"]["blas"].get<std::string>().find("OpenBLAS"), std::string::npos);
}

TEST(DoctorCommand, PrintsOneLineAKernel) {
  const Outcome outcome = run_line({"doctor", "--device", "cpu"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  for (const kernels::KernelInfo& kernel : kernels::all_kernels()) {
    EXPECT_NE(outcome.out.find(fmt::format("  ok    {:<28} error ", kernel.name)), std::string::npos)
        << kernel.name << "\n"
        << outcome.out;
  }
  for (const char* part : {"system: ", "BLAS: OpenBLAS", "device: the CPU", "features: "}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(outcome.out.find("MAX_THREADS"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err, "");  // progress is for terminals
}

TEST(DoctorCommand, FailsForADeviceThatIsNotThere) {
  const Outcome outcome = run_line({"doctor", "--device", "abacus"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_NE(outcome.err.find("there is no such device"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace athanor::cli
