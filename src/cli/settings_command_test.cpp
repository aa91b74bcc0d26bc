// The document of the settings.
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "cli/exit_codes.h"
#include "cli/run_for_test.h"
#include "train/presets.h"
#include "train/settings.h"

namespace athanor::cli {
namespace {

TEST(SettingsCommand, TheCommittedDocumentIsCurrent) {
  const Outcome outcome = run_line({"settings"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, TestFolder::read(std::filesystem::path(ATHANOR_SOURCE_DIR) / "docs/settings.md"))
      << "renew it: build/release/athanor settings > docs/settings.md";
}

TEST(SettingsCommand, HoldsEveryKeyAndEveryPreset) {
  const std::string out = run_line({"settings"}).out;
  for (const train::SettingKey& key : train::setting_keys())
    EXPECT_NE(out.find(fmt::format("| `{}` |", key.name)), std::string::npos) << key.name;
  for (const std::string_view name : train::preset_names())
    EXPECT_NE(out.find(fmt::format(" {} |", name)), std::string::npos) << name;
}

}  // namespace
}  // namespace athanor::cli
