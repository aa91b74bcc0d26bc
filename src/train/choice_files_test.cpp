// Tables of choices as files: what is written is read, and what is odd is refused or left out.
#include "train/choice_files.h"

#include "base/atomic_file.h"
#include "base/expect_error.h"
#include "base/test_folder.h"
#include "base/test_garbled.h"
#include "kernels/kernel_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::train {
namespace {

device::DeviceInfo gpu() {
  device::DeviceInfo info;
  info.backend = device::Backend::WebGpu;
  info.name = "NVIDIA H200";
  info.driver = "580.95";
  info.library = "libwebgpu_dawn.so";
  return info;
}

device::ChoiceTable two_choices() {
  device::ChoiceTable table;
  table.set({"matmul", "parts", {64, 64, 1024}, "8"});
  table.set({"matmul_t", "units_medium", {512, 512, 512}, "tiles"});
  return table;
}

std::string with_choices(const std::string& choices) {
  return R"({"version": 1, "adapter": "a", "driver": "d", "library": "l", "shaders": "s", "choices": )" + choices + "}";
}

TEST(ChoiceFiles, AreReadAsTheyWereWritten) {
  const std::string text = choices_text(choices_on(gpu(), two_choices()));
  const ChoiceFile read = parse_choices(text, "a file");
  EXPECT_EQ(read.adapter, "NVIDIA H200");
  EXPECT_EQ(read.shaders, kernels::shaders_digest());
  EXPECT_EQ(read.table.size(), 2);
  EXPECT_EQ(choices_text(read), text);
  EXPECT_EQ(parse_choices(choices_text(choices_on(gpu(), {})), "a file").table.size(), 0);
}

TEST(ChoiceFiles, WriteNamesOfDriversThatAreNoText) {
  device::DeviceInfo info = gpu();
  info.driver = "\xff\xfe \"quoted\"\n";
  EXPECT_EQ(parse_choices(choices_text(choices_on(info, two_choices())), "a file").table.size(), 2);
}

TEST(ChoiceFiles, LeaveOutKernelsThatAreNotThere) {
  const ChoiceFile file =
      parse_choices(with_choices(R"([{"kernel": "matmul_of_tomorrow", "what": "parts", "sizes": [1, 1, 1], "take": 2},
                       {"kernel": "matmul", "what": "tomorrow", "sizes": [1, 1, 1], "take": "x"}])"),
                    "a file");
  EXPECT_EQ(file.table.size(), 1);
}

TEST(ChoiceFiles, ThatAreNoneAreRefusedByName) {
  for (const char* text : {"", "{", "[]", "7", "null", "\"text\"", "{}", R"({"version": 2})", R"({"version": "1"})",
                           R"({"version": 1, "adapter": 7})", "{\"version\": 1, \"adapter\": \"\xff\"}"}) {
    EXPECT_ERROR(parse_choices(text, "odd.json"), "odd.json: ");
  }
  EXPECT_ERROR(parse_choices(std::string(200000, '['), "odd.json"), "odd.json: is no JSON");
  EXPECT_ERROR(parse_choices(std::string(5 << 20, ' '), "odd.json"), "odd.json: 5242880 bytes");
}

TEST(ChoiceFiles, ChoicesOfWrongTypesAndHugeNumbersAreRefusedByPlace) {
  for (const char* choices : {
           "7",
           "{}",
           "[7]",
           "[[]]",
           R"([{"what": "parts", "sizes": [1, 1, 1], "take": 2}])",
           R"([{"kernel": "matmul", "what": 7, "sizes": [1, 1, 1], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 1, 1], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 0], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, -1], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 1.5], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 18446744073709551615], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 1e300], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 99999999999999999999999], "take": 2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 1], "take": -2}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 1], "take": 2.5}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 1], "take": null}])",
           R"([{"kernel": "matmul", "what": "parts", "sizes": [1, 1, 1]}])",
       }) {
    EXPECT_ERROR(parse_choices(with_choices(choices), "odd.json"), "odd.json: ");
  }
  const std::string long_name =
      with_choices(R"([{"kernel": ")" + std::string(65, 'x') + R"(", "what": "", "sizes": [1, 1, 1], "take": 2}])");
  EXPECT_ERROR(parse_choices(long_name, "odd.json"), "odd.json: choice 1: a name is longer");
}

TEST(ChoiceFiles, ThatAreSpoiltAreReadOrRefused) {
  for_each_garbled(choices_text(choices_on(gpu(), two_choices())), [](const Garbled& garbled) {
    try {
      parse_choices(garbled.content, "garbled");
    } catch (const Error& refused) {
      EXPECT_THAT(refused.what(), ::testing::StartsWith("garbled: ")) << garbled.change;
    }
  });
}

TEST(ChoiceFiles, KeepTheirAnswersWhateverTheyAre) {
  // Whether one is admitted is seen when a launcher asks.
  const ChoiceFile file = parse_choices(
      with_choices(R"([{"kernel": "matmul", "what": "parts", "sizes": [64, 64, 64], "take": 18446744073709551615}])"),
      "a file");
  EXPECT_EQ(file.table.find({"matmul", "parts", {64, 64, 64}, 1, 32, 4}), std::nullopt);
}

TEST(ChoiceFiles, OfTheUserStandAboveTheShippedOnes) {
  const TestFolder folder;
  EXPECT_EQ(choices_path(gpu(), folder.path()).parent_path(), folder.path());
  write_file(choices_path(gpu(), folder.path()), choices_text(choices_on(gpu(), two_choices())));
  EXPECT_EQ(known_choices(gpu(), folder.path())->size(), 2);
  device::DeviceInfo other = gpu();
  other.driver = "581.00";
  EXPECT_NE(choices_path(other, folder.path()), choices_path(gpu(), folder.path()));
  device::DeviceInfo cpu;
  EXPECT_EQ(known_choices(cpu, folder.path()), nullptr);
}

TEST(ChoiceFiles, OfOtherShadersOrDamagedAreNotUsed) {
  const TestFolder folder;
  device::DeviceInfo info = gpu();
  info.name = "an adapter that no table is shipped for";
  const std::filesystem::path path = choices_path(info, folder.path());
  ChoiceFile file = choices_on(info, two_choices());
  file.shaders = "other";
  for (const std::string& text : {choices_text(file), std::string("{"), std::string()}) {
    write_file(path, text);
    EXPECT_TRUE(known_choices(info, folder.path())->is_empty()) << text;
    EXPECT_TRUE(std::filesystem::exists(path));
  }
}

TEST(ShippedChoices, AreWholeAndFoundByTheLongestNameWithinTheAdapters) {
  for (const ShippedChoices& file : shipped_choices()) {
    const ChoiceFile read = parse_choices(file.text, file.name);
    EXPECT_GT(read.adapter.size(), 3U) << file.name;
    EXPECT_EQ(read.shaders.size(), kernels::shaders_digest().size()) << file.name;
  }
  const auto file_of = [](const std::string& adapter, const std::string& answer) {
    ChoiceFile file;
    file.adapter = adapter;
    file.shaders = "these";
    file.table.set({"matmul", "parts", {64, 64, 64}, answer});
    return choices_text(file);
  };
  const std::string any = file_of("NVIDIA", "2");
  const std::string h200 = file_of("NVIDIA H200", "4");
  const std::string nothing = file_of("", "8");
  const std::vector<ShippedChoices> shipped = {{"any", any}, {"h200", h200}, {"nothing", nothing}};
  EXPECT_EQ(shipped_table(shipped, "NVIDIA H200 NVL", "these").all()[0].answer, "4");
  EXPECT_EQ(shipped_table(shipped, "NVIDIA GeForce", "these").all()[0].answer, "2");
  EXPECT_TRUE(shipped_table(shipped, "Apple M4", "these").is_empty());
  EXPECT_TRUE(shipped_table(shipped, "NVIDIA H200", "others").is_empty());
}

}  // namespace
}  // namespace athanor::train
