// One holder at a time; the folder is free again when the holder goes.
#include "base/folder_lock.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/expect_error.h"
#include "base/test_folder.h"

namespace athanor {
namespace {

TEST(FolderLock, IsHeldByOneAndFreeAfterwards) {
  const TestFolder folder;
  std::optional<FolderLock> first(folder.path());
  EXPECT_ERROR(FolderLock(folder.path()), "another process is training here");
  first.reset();
  const FolderLock second(folder.path());
}

}  // namespace
}  // namespace athanor
