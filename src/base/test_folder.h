// A folder for the files of one test, removed with all it holds. For tests of every layer.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

namespace athanor {

class TestFolder {
 public:
  TestFolder() {
    // The name alone is random, so that test programs may run side by side.
    std::random_device device;
    do {
      path_ = std::filesystem::temp_directory_path() / ("athanor-test-" + std::to_string(device()));
    } while (!std::filesystem::create_directory(path_));
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  /// Plain writing and reading, for tests of what reads and writes in other ways.
  std::filesystem::path put(std::string_view name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  /// Entries of the folder itself, hidden ones too.
  int num_entries() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace athanor
