// Tests of host.h, cgroup.h and log.h.
#include "base/host.h"

#include <signal.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "base/cgroup.h"
#include "base/expect_error.h"
#include "base/log.h"
#include "base/test_folder.h"

namespace athanor {
namespace {

namespace fs = std::filesystem;

TEST(Host, TellsThreadsAndMemoryThatMakeSense) {
  EXPECT_GE(available_threads(), 1);
  EXPECT_LE(available_threads(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(total_memory_bytes(), int64_t{64} << 20);
  EXPECT_GT(available_memory_bytes(), int64_t{16} << 20);
  EXPECT_LE(available_memory_bytes(), total_memory_bytes());
}

TEST(Host, PeakMemoryGrowsByWhatIsTouched) {
  const int64_t before = peak_resident_bytes();
  ASSERT_GT(before, 0);
  const std::vector<char> touched(size_t{256} << 20, 1);
  EXPECT_GE(peak_resident_bytes(), (int64_t{256} << 20) + before / 4);
  EXPECT_EQ(touched.back(), 1);
}

TEST(Host, FindsTheFolderOfThisProgram) { EXPECT_TRUE(fs::exists(executable_folder() / "base_test")); }

/// An environment variable that gets its old value back.
struct Variable {
  const char* name;
  std::string old;
  bool was_set;
  explicit Variable(const char* variable) : name(variable), was_set(std::getenv(variable) != nullptr) {
    if (was_set) old = std::getenv(variable);
  }
  ~Variable() { was_set ? ::setenv(name, old.c_str(), 1) : ::unsetenv(name); }
};

TEST(Host, CacheFolderFollowsTheEnvironment) {
  const Variable cache("XDG_CACHE_HOME");
  const Variable home("HOME");
  ::setenv("XDG_CACHE_HOME", "/somewhere/cache", 1);
  EXPECT_EQ(cache_folder(), "/somewhere/cache/athanor");
  // The XDG rules say that a relative path counts as none.
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_TRUE(cache_folder().string().starts_with("/home/somebody/"));
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_TRUE(cache_folder().string().starts_with("/home/somebody/"));
}

TEST(Host, ListsTheVariablesThatBeginSo) {
  const Variable variable("ATHANOR_TEST_NAMES");
  ::setenv("ATHANOR_TEST_NAMES", "a=b", 1);
  EXPECT_EQ(environment_names("ATHANOR_TEST_NAM"), std::vector<std::string>{"ATHANOR_TEST_NAMES"});
  EXPECT_TRUE(environment_names("ATHANOR_TEST_NAMES_").empty());
}

TEST(Host, TheClockGoesForward) {
  const double start = now_seconds();
  while (now_seconds() == start) {
  }
  EXPECT_GT(now_seconds(), start);
}

TEST(Interrupts, TheFirstIsAFlagAndTheSecondEndsWith130) {
  EXPECT_EXIT(
      {
        catch_interrupts();
        if (interrupted()) std::_Exit(1);
        ::raise(SIGINT);
        if (!interrupted()) std::_Exit(2);
        ::raise(SIGTERM);
        std::_Exit(3);
      },
      testing::ExitedWithCode(130), "");
}

TEST(Cgroup, TakesTheSmallestLimitOnTheWayUpInVersion2) {
  const TestFolder root;
  fs::create_directories(root / "a/b");
  root.put("a/b/memory.max", "max\n");
  root.put("a/memory.max", "1000000\n");
  root.put("memory.max", "5000000\n");
  root.put("a/b/cpu.max", "150000 100000\n");
  root.put("a/cpu.max", "max 100000\n");
  const cgroup::Limits limits = cgroup::read_limits("0::/a/b\n", root.path());
  EXPECT_EQ(limits.memory_bytes, 1000000);
  EXPECT_EQ(limits.cpus, 1.5);
}

TEST(Cgroup, ReadsVersion1ByController) {
  const TestFolder root;
  fs::create_directories(root / "memory/docker");
  fs::create_directories(root / "cpu");
  root.put("memory/docker/memory.limit_in_bytes", "2000000\n");
  root.put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.put("cpu/cpu.cfs_quota_us", "200000\n");
  root.put("cpu/cpu.cfs_period_us", "100000\n");
  const cgroup::Limits limits = cgroup::read_limits("5:memory:/docker\n4:cpu,cpuacct:/not/mounted/here\n", root.path());
  EXPECT_EQ(limits.memory_bytes, 2000000);
  EXPECT_FALSE(limits.free_memory_bytes.has_value());  // its use is not told
  EXPECT_EQ(limits.cpus, 2.0);
}

TEST(Cgroup, WhatALimitLeavesCountsPagesOfFilesAsFree) {
  const TestFolder root;
  fs::create_directories(root / "a/b");
  root.put("a/memory.max", "1000000\n");
  root.put("a/memory.current", "900000\n");
  root.put("a/memory.stat", "anon 600000\ninactive_file 250000\n");
  root.put("a/b/memory.max", "5000000\n");
  root.put("a/b/memory.current", "900000\n");
  EXPECT_EQ(cgroup::read_limits("0::/a/b\n", root.path()).free_memory_bytes, 350000);
  const TestFolder old;
  fs::create_directories(old / "memory/docker");
  old.put("memory/docker/memory.limit_in_bytes", "2000000\n");
  old.put("memory/docker/memory.usage_in_bytes", "2500000\n");
  old.put("memory/docker/memory.stat", "total_inactive_file 100000\n");
  EXPECT_EQ(cgroup::read_limits("5:memory:/docker\n", old.path()).free_memory_bytes, 0);
}

TEST(Cgroup, WhatCannotBeReadIsNoLimit) {
  const TestFolder root;
  root.put("cpu.max", "max 100000\n");
  root.put("memory.max", "max\n");
  for (const char* membership : {"", "nonsense", "0::/../../x\n", "0::/\n"}) {
    const cgroup::Limits limits = cgroup::read_limits(membership, root.path());
    EXPECT_FALSE(limits.memory_bytes.has_value());
    EXPECT_FALSE(limits.cpus.has_value());
  }
}

TEST(Log, LinesGoToStderrWithTheirLevelAndWithoutColours) {
  testing::internal::CaptureStderr();
  log_info("step {} of {}", 1, 2);
  log_warning("braces {} stay", "{}");
  log_line(LogLevel::Error, "{not a format}");
  log_debug("hidden");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "step 1 of 2\nwarning: braces {} stay\nerror: {not a format}\n");
}

TEST(Log, TheLevelHidesWhatIsBelowIt) {
  testing::internal::CaptureStderr();
  set_log_level(LogLevel::Warning);
  log_info("hidden");
  log_warning("shown");
  set_log_level(LogLevel::Off);
  log_line(LogLevel::Error, "hidden too");
  log_line(LogLevel::Off, "never shown");
  set_log_level(LogLevel::Info);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: shown\n");
}

}  // namespace
}  // namespace athanor
