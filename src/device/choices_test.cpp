// Answers of a table: for classes of sizes, and only what a launch admits.
#include "device/choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace athanor::device {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"tiles", "units"};

TEST(SizeClass, IsTheNearestOfTwoAndThreeTimesPowersOfTwo) {
  const std::vector<std::pair<int64_t, int64_t>> expected = {
      {1, 1},       {2, 2},       {3, 3},       {4, 4},       {5, 6},        {7, 8},     {9, 8},
      {11, 12},     {64, 64},     {288, 256},   {512, 512},   {600, 512},    {700, 768}, {768, 768},
      {1024, 1024}, {2006, 2048}, {3072, 3072}, {4095, 4096}, {32000, 32768}};
  for (const auto& [size, its_class] : expected) EXPECT_EQ(size_class(size), its_class) << size;
}

TEST(SizeClass, TakesAnyNumber) {
  EXPECT_EQ(size_class(0), 1);
  EXPECT_EQ(size_class(-5), 1);
  EXPECT_EQ(size_class(std::numeric_limits<int64_t>::min()), 1);
  EXPECT_GE(size_class(std::numeric_limits<int64_t>::max()), int64_t{1} << 59);
}

TEST(ChoiceTable, AnswersForTheWholeClass) {
  ChoiceTable table;
  table.set({"matmul", "parts", {1000, 770, 2048}, "4"});
  EXPECT_EQ(table.find({"matmul", "parts", {1024, 768, 2006}, 1, 32, 2}), 4);
  EXPECT_EQ(table.find({"matmul", "parts", {2048, 768, 2048}, 1, 32, 2}), std::nullopt);
  EXPECT_EQ(table.find({"matmul_t", "parts", {1024, 768, 2048}, 1, 32, 2}), std::nullopt);
  EXPECT_EQ(table.find({"matmul", "part", {1024, 768, 2048}, 1, 32, 2}), std::nullopt);
}

TEST(ChoiceTable, GivesNothingThatALaunchDoesNotAdmit) {
  ChoiceTable table;
  const ChoiceSizes sizes{64, 64, 64};
  const auto answer = [&](const std::string& given) {
    table.set({"matmul", "parts", sizes, given});
    return table.find({"matmul", "parts", sizes, 1, 8, 2});
  };
  EXPECT_EQ(answer("8"), 8);
  for (const char* odd : {"9", "0", "-1", "", "8 ", " 8", "8.0", "0x8", "eight", "99999999999999999999999999"})
    EXPECT_EQ(answer(odd), std::nullopt) << odd;
}

TEST(ChoiceTable, KnowsNamesByTheLauncherThatAsks) {
  ChoiceTable table;
  const ChoiceSizes sizes{64, 64, 64};
  const Choice choice{"matmul", "units", sizes, 0, 1, 0, kNames};
  table.set({"matmul", "units", sizes, "units"});
  EXPECT_EQ(table.find(choice), 1);
  EXPECT_EQ(table.find({"matmul", "units", sizes, 0, 0, 0, kNames}), std::nullopt);  // this adapter has none
  for (const char* odd : {"1", "", "Units", "wheels"}) {
    table.set({"matmul", "units", sizes, odd});
    EXPECT_EQ(table.find(choice), std::nullopt) << odd;
  }
}

TEST(ChoiceTable, KeepsOneAnswerToAQuestion) {
  ChoiceTable table;
  table.set({"matmul", "parts", {1000, 770, 2048}, "4"});
  table.set({"matmul", "parts", {1024, 768, 2048}, "8"});
  ASSERT_EQ(table.size(), 1);
  EXPECT_EQ(table.all()[0].answer, "8");
  EXPECT_EQ(table.all()[0].sizes, (ChoiceSizes{1024, 768, 2048}));
  table.remove("matmul", "parts", {1010, 768, 2000});
  EXPECT_TRUE(table.is_empty());
}

}  // namespace
}  // namespace athanor::device
