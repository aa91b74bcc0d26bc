#include "base/atomic_file.h"

#include <sys/stat.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <utility>

#include "base/expect_error.h"
#include "base/fault.h"
#include "base/os_file.h"
#include "base/test_folder.h"

namespace athanor {
namespace {

namespace fs = std::filesystem;

/// A fault for the life of the object.
struct Fault {
  explicit Fault(std::string_view fault) { set_fault(fault); }
  ~Fault() { set_fault(""); }
};

/// The number of a process that has just ended.
int64_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(AtomicFile, AppearsOnlyWithCommit) {
  const TestFolder folder;
  AtomicFile file(folder / "a.txt");
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(folder / "a.txt"));
  file.commit();
  EXPECT_EQ(folder.read(folder / "a.txt"), "one two");
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST(AtomicFile, WithoutCommitTheOldFileStaysAndNothingElse) {
  const TestFolder folder;
  folder.put("a.txt", "old");
  {
    AtomicFile file(folder / "a.txt");
    file.write("new");
  }
  EXPECT_EQ(folder.read(folder / "a.txt"), "old");
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST(AtomicFile, ReplacesAnOldFile) {
  const TestFolder folder;
  folder.put("a.txt", "a longer old text");
  write_file(folder / "a.txt", "new");
  EXPECT_EQ(folder.read(folder / "a.txt"), "new");
}

TEST(AtomicFile, KeepsALinkAndWritesWhatItPointsTo) {
  const TestFolder folder;
  folder.put("real.txt", "old");
  fs::create_symlink("real.txt", folder / "link.txt");
  write_file(folder / "link.txt", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link.txt"));
  EXPECT_EQ(folder.read(folder / "real.txt"), "new");
}

TEST(AtomicFile, CanBeMovedWhileOpen) {
  const TestFolder folder;
  AtomicFile first(folder / "a.txt");
  first.write("kept");
  AtomicFile second = std::move(first);
  second.commit();
  EXPECT_EQ(folder.read(folder / "a.txt"), "kept");
}

TEST(AtomicFile, RefusesWrongPathsAndNamesThem) {
  const TestFolder folder;
  EXPECT_ERROR(AtomicFile(folder / "missing/a.txt"), (folder / "missing").string());
  EXPECT_ERROR(AtomicFile{folder.path()}, "is a folder");
  EXPECT_ERROR(AtomicFile("/dev/null"), "not a regular file");
  EXPECT_ERROR(AtomicFile(""), "the path is empty");
}

TEST(AtomicFile, RefusesUseAfterCommit) {
  const TestFolder folder;
  AtomicFile file(folder / "a.txt");
  file.commit();
  EXPECT_ERROR(file.write("more"), "committed already");
  EXPECT_ERROR(file.commit(), "committed already");
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileWholeAndNoPartialOne) {
  const TestFolder folder;
  folder.put("a.txt", "old");
  const Fault fault("disk-full:2");
  const auto write_twice = [&] {
    AtomicFile file(folder / "a.txt");
    file.write("one");
    file.write("two");
    file.commit();
  };
  EXPECT_ERROR(write_twice(), "a.txt: writing failed: No space left on device");
  EXPECT_EQ(folder.read(folder / "a.txt"), "old");
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST(AtomicFile, AFolderThatCannotBeWrittenIsNamed) {
  const TestFolder folder;
  const Fault fault("no-write");
  EXPECT_ERROR(AtomicFile(folder / "a.txt"), "a.txt: cannot be written: Permission denied");
  EXPECT_ERROR(AtomicFolder(folder / "run"), "run: cannot be written: Permission denied");
  EXPECT_EQ(folder.num_entries(), 0);
}

TEST(AtomicFile, RemovesWhatAKilledProcessHasLeft) {
  const TestFolder folder;
  folder.put(".a.txt.partial-" + std::to_string(ended_process()), "half");
  folder.put(".b.txt.partial-" + std::to_string(ended_process()), "of another file");
  write_file(folder / "a.txt", "new");
  EXPECT_EQ(folder.num_entries(), 2);
}

TEST(Unfinished, FilesAndFoldersOfDeadProcessesAreRemovedFromAFolderAndNothingElse) {
  const TestFolder folder;
  const std::string dead = std::to_string(ended_process());
  folder.put(".latest.partial-" + dead, "half");
  fs::create_directory(folder / (".checkpoint-4.partial-" + dead));
  folder.put(".other.partial-" + std::to_string(::getppid()), "of a live process");
  folder.put("notes.partial-" + dead, "no hidden name");
  folder.put(".partial-" + dead, "no name before it");
  folder.put(".a.partial-x", "no number");
  EXPECT_EQ(remove_unfinished(folder.path()).size(), 2U);
  EXPECT_EQ(folder.num_entries(), 4);
  EXPECT_TRUE(remove_unfinished(folder / "nowhere").empty());
}

TEST(AtomicFolder, AppearsOnlyWithCommit) {
  const TestFolder folder;
  AtomicFolder staged(folder / "run");
  write_file(staged.path() / "config.json", "{}");
  fs::create_directory(staged.path() / "inner");
  write_file(staged.path() / "inner" / "b", "b");
  EXPECT_FALSE(fs::exists(folder / "run"));
  staged.commit();
  EXPECT_EQ(folder.read(folder / "run" / "config.json"), "{}");
  EXPECT_EQ(folder.read(folder / "run" / "inner" / "b"), "b");
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST(AtomicFolder, SwapsOutAnOldFolderWhole) {
  const TestFolder folder;
  fs::create_directory(folder / "run");
  folder.put("run/old", "old");
  AtomicFolder staged(fs::path(folder / "run") / "");  // a trailing slash changes nothing
  write_file(staged.path() / "new", "new");
  staged.commit();
  EXPECT_TRUE(fs::exists(folder / "run/new"));
  EXPECT_FALSE(fs::exists(folder / "run/old"));
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST(AtomicFolder, SwapsByTwoRenamesWhereTheSystemCannotExchange) {
  const TestFolder folder;
  const Fault fault("no-exchange");
  fs::create_directory(folder / "run");
  folder.put("run/old", "old");
  AtomicFolder staged(folder / "run");
  write_file(staged.path() / "new", "new");
  staged.commit();
  EXPECT_TRUE(fs::exists(folder / "run/new"));
  EXPECT_FALSE(fs::exists(folder / "run/old"));
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST(AtomicFolder, WithoutCommitTheOldFolderStaysAndNothingElse) {
  const TestFolder folder;
  fs::create_directory(folder / "run");
  folder.put("run/old", "old");
  {
    AtomicFolder staged(folder / "run");
    write_file(staged.path() / "new", "new");
  }
  EXPECT_TRUE(fs::exists(folder / "run/old"));
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST(AtomicFolder, RemovesTheStagingFoldersOfDeadProcessesOnly) {
  const TestFolder folder;
  const fs::path dead = folder / (".run.partial-" + std::to_string(ended_process()));
  const fs::path live = folder / (".run.partial-" + std::to_string(::getppid()));
  const fs::path other = folder / ".run.partial-notes";
  for (const fs::path& path : {dead, live, other}) fs::create_directory(path);
  const AtomicFolder staged(folder / "run");
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(live));
  EXPECT_TRUE(fs::exists(other));
}

TEST(AtomicFolder, RefusesAFileInItsPlaceAndASecondCommit) {
  const TestFolder folder;
  EXPECT_ERROR(AtomicFolder(folder.put("file", "x")), "is not a folder");
  EXPECT_ERROR(AtomicFolder(folder / "missing/run"), "does not exist; make it first");
  AtomicFolder staged(folder / "run");
  staged.commit();
  EXPECT_ERROR(staged.commit(), "committed already");
}

TEST(OsFile, AWriteToAFullDeviceGivesTheSystemsReason) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  // create() makes new files only, so the device is opened as a test's own file.
  FILE* full = std::fopen("/dev/full", "wb");
  ASSERT_NE(full, nullptr);
  const std::byte bytes[16]{};
  EXPECT_ERROR(os_file::write_all(::fileno(full), bytes, "x.bin"), "x.bin: writing failed: No space left on device");
  std::fclose(full);
}

TEST(OsFile, ExchangeSwapsTwoFoldersWhereTheSystemCan) {
  const TestFolder folder;
  fs::create_directory(folder / "a");
  fs::create_directory(folder / "b");
  folder.put("a/x", "x");
  if (!os_file::exchange(folder / "a", folder / "b")) GTEST_SKIP() << "this file system swaps nothing";
  EXPECT_TRUE(fs::exists(folder / "b/x"));
  EXPECT_FALSE(fs::exists(folder / "a/x"));
}

TEST(Fault, FailsFromTheGivenCallOn) {
  const Fault fault("device-lost:3");
  EXPECT_FALSE(fault_due("device-lost"));
  EXPECT_FALSE(fault_due("disk-full"));
  EXPECT_FALSE(fault_due("device-lost"));
  EXPECT_TRUE(fault_due("device-lost"));
  EXPECT_TRUE(fault_due("device-lost"));
}

TEST(Fault, FailsUpToTheGivenCall) {
  const Fault fault("device-lost:2:3");
  EXPECT_FALSE(fault_due("device-lost"));
  EXPECT_TRUE(fault_due("device-lost"));
  EXPECT_TRUE(fault_due("device-lost"));
  EXPECT_FALSE(fault_due("device-lost"));
}

TEST(Fault, RefusesACountThatIsNone) {
  EXPECT_ERROR(set_fault("disk-full:soon"), "\"disk-full:soon\" is not");
  EXPECT_ERROR(set_fault("disk-full:0"), "at least 1");
  EXPECT_FALSE(fault_due("disk-full"));
}

TEST(AtomicFile, WritesOverAndReadsBackWhatItHolds) {
  const TestFolder folder;
  {
    AtomicFile file(folder / "x.bin");
    file.write("head....");
    file.write("body");
    file.overwrite(4, std::as_bytes(std::span(std::string_view("1234"))));
    file.write(" and more");
    std::string back(6, ' ');
    file.read_back(6, std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(back, "34body");
    EXPECT_ERROR(file.read_back(18, std::as_writable_bytes(std::span(back))), "reading back failed");
    file.commit();
    EXPECT_ERROR(file.overwrite(0, {}), "committed already");
  }
  EXPECT_EQ(TestFolder::read(folder / "x.bin"), "head1234body and more");
}

}  // namespace
}  // namespace athanor
