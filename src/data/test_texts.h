// Texts and folders that several tests of this layer use.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::data {

/// A folder of the test's own, removed when the test ends.
class TestFolder {
 public:
  explicit TestFolder(std::string_view name)
      : path_(std::filesystem::temp_directory_path() /
              ("athanor_" + std::string(name) + "_" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directories(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// Enough repetition for a few hundred merges.
inline std::string small_corpus() {
  std::string text;
  const std::vector<std::string> words{"the",    "king",   "of",    "England", "speaks", "to",     "his",   "queen",
                                       "and",    "their",  "son",   "within",  "a",      "castle", "while", "Ankara",
                                       "'dan",   "trees",  "123",   "fall",    "çok",    "güzel",  "日本",  "x = y;",
                                       "return", "(void)", "naïve", "don't",   "WE'LL",  "ROMEO:"};
  const std::vector<std::string> syllables{"ka", "lo",  "mi",  "ten", "sur", "pra",
                                           "ne", "vol", "dis", "ger", "ham", "let"};
  std::mt19937 random(1);
  const auto any_of = [&random](const std::vector<std::string>& list) { return list[random() % list.size()]; };
  for (int line = 0; line < 400; ++line) {
    for (int word = 0; word < 12; ++word) {
      text += (word % 3 == 0 ? any_of(syllables) + any_of(syllables) + any_of(syllables) : any_of(words)) + " ";
    }
    text += line % 5 == 0 ? "\n\n" : "\n";
  }
  return text;
}

/// What a tokenizer meets: languages, emoji, code, white space, and bytes that are not UTF-8.
inline std::vector<std::string> difficult_texts() {
  std::vector<std::string> texts{
      "",
      " ",
      "Hello, world!",
      "Ankara'dan geldim; ığüşöç İI. DON'T we'll I'm",
      "天地玄黄,宇宙洪荒。日月盈昃,辰宿列张。",
      "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 e\u0301 \u200d",
      "for (int i = 0; i < n; ++i) {\n\treturn x[i] / 2;  // half\r\n}\n\n\n",
      "   leading and trailing   \n \t \r\n  ",
      "1234567 ١٢٣ ½ Ⅷ 3.14159e-10",
      "\u00a0\u2003\u3000\u180e\u0085 mixed\u2028spaces",
      "<|endoftext|> is only text",
      std::string("zero\0byte", 9),
      "\xff\xfe invalid \xc3( \xe2\x82 and \xed\xa0\x80 surrogate \xf4\x90\x80\x80",
      "\x80\x80\x80",
      "tail \xe6\x97",
  };
  std::mt19937 random(2);
  for (int i = 0; i < 50; ++i) {
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    texts.push_back(bytes);
  }
  return texts;
}

}  // namespace athanor::data
