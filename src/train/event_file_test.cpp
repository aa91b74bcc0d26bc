// The bytes of an event file against a decoder of its own; TensorBoard's reader judges in tests/tensorboard_judge.py.
#include "train/event_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/test_folder.h"

namespace athanor::train {
namespace {

template <typename T>
T at(std::string_view bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.substr(offset, sizeof(T)).data(), sizeof(T));
  return value;
}

uint32_t unmasked(uint32_t masked) { return std::rotl(masked - 0xA282EAD8U, 15); }

std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (size_t begin = 0; begin < file.size();) {
    const auto length = at<uint64_t>(file, begin);
    EXPECT_EQ(unmasked(at<uint32_t>(file, begin + 8)), crc32c(std::string_view(file).substr(begin, 8)));
    records.push_back(file.substr(begin + 12, length));
    EXPECT_EQ(unmasked(at<uint32_t>(file, begin + 12 + length)), crc32c(records.back()));
    begin += 16 + length;
  }
  return records;
}

/// Fields of a message by number: numbers of fixed size as bytes, varints as 8 bytes.
std::multimap<uint64_t, std::string> fields_of(std::string_view message) {
  std::multimap<uint64_t, std::string> fields;
  size_t offset = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message[offset++]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (offset < message.size()) {
    const uint64_t key = varint();
    if ((key & 7) == 0) {
      const uint64_t value = varint();
      fields.emplace(key >> 3, std::string(reinterpret_cast<const char*>(&value), 8));
      continue;
    }
    const size_t length = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : varint();
    fields.emplace(key >> 3, message.substr(offset, length));
    offset += length;
  }
  return fields;
}

std::string field(const std::string& message, uint64_t number) {
  const auto fields = fields_of(message);
  const auto found = fields.find(number);
  return found == fields.end() ? std::string() : found->second;
}

TEST(EventFile, TheChecksumIsCrc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);  // the check value of RFC 3720
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
}

TEST(EventFile, HoldsVersionStartAndScalars) {
  const TestFolder folder;
  std::filesystem::path path;
  {
    EventFile events(folder.path(), 200);
    path = events.path();
    const EventFile::Scalar scalars[] = {{"train/loss", 2.5}, {"lr", 1e-3}};
    events.add(201, scalars);
  }
  const std::vector<std::string> records = records_of(TestFolder::read(path));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(field(records[0], 3), "brain.Event:2");
  EXPECT_EQ(at<uint64_t>(field(records[1], 2), 0), 201U);
  EXPECT_EQ(at<uint64_t>(field(field(records[1], 7), 1), 0), 1U);  // START
  EXPECT_GT(at<double>(field(records[2], 1), 0), 1.7e9);
  EXPECT_EQ(at<uint64_t>(field(records[2], 2), 0), 201U);
  std::map<std::string, float> values;
  for (const auto& [number, value] : fields_of(field(records[2], 5))) {
    EXPECT_EQ(number, 1U);
    values[field(value, 1)] = at<float>(field(value, 2), 0);
  }
  EXPECT_EQ(values, (std::map<std::string, float>{{"lr", 1e-3F}, {"train/loss", 2.5F}}));
}

TEST(EventFile, EachStartHasAFileOfItsOwnBehindTheOlderOnes) {
  const TestFolder folder;
  const std::filesystem::path first = EventFile(folder.path(), 0).path();
  const std::filesystem::path second = EventFile(folder.path(), 10).path();
  EXPECT_LT(first.filename().string(), second.filename().string());
  EXPECT_THROW(EventFile(folder / "none", 0), Error);
}

}  // namespace
}  // namespace athanor::train
