// kernels: what needs no device looks for none.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/run_for_test.h"
#include "kernels/kernel_info.h"

namespace athanor::cli {
namespace {

#ifndef _WIN32
/// A WebGPU library that is none: whoever looks for a GPU says so.
class KernelsCommand : public ::testing::Test {
 protected:
  KernelsCommand() {
    const char* set = std::getenv("ATHANOR_WEBGPU_LIBRARY");
    if (set != nullptr) old_ = set;
    ::setenv("ATHANOR_WEBGPU_LIBRARY", "/nowhere/libnone.so", 1);
  }
  ~KernelsCommand() override {
    old_.empty() ? ::unsetenv("ATHANOR_WEBGPU_LIBRARY") : ::setenv("ATHANOR_WEBGPU_LIBRARY", old_.c_str(), 1);
  }

 private:
  std::string old_;
};

TEST_F(KernelsCommand, ListsThePortableFormsWithoutADevice) {
  const Outcome outcome = run_line({"kernels", "--json"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_EQ(outcome.err, "");
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_FALSE(report.contains("device"));
  EXPECT_EQ(report["kernels"].size(), kernels::all_kernels().size());
  for (const nlohmann::json& kernel : report["kernels"]) EXPECT_EQ(kernel["variants"][0], "portable") << kernel["name"];
}

TEST_F(KernelsCommand, PrintsAShaderWithoutADevice) {
  const Outcome outcome = run_line({"kernels", "--wgsl", "relu"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, run_line({"kernels", "--wgsl", "relu", "--device", "cpu"}).out);
  EXPECT_NE(outcome.out.find("fn main"), std::string::npos);
}

TEST_F(KernelsCommand, AsksTheDeviceThatIsNamed) {
  const Outcome outcome = run_line({"kernels", "--device", "webgpu"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_NE(outcome.err.find("libnone.so"), std::string::npos) << outcome.err;
}
#endif

}  // namespace
}  // namespace athanor::cli
