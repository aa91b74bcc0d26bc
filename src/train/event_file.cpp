// Protobuf's wire format: a key (field number times 8 plus wire type), then a varint, 4 or 8 bytes, or a length with bytes.
#include "train/event_file.h"

#include "base/error.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace athanor::train {

namespace {

enum class Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

template <typename T>
void put_fixed(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, uint32_t field, Wire wire) { put_varint(out, field << 3 | static_cast<uint32_t>(wire)); }

void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, Wire::Bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

/// Event: wall_time = 1 (double), step = 2 (int64), file_version = 3, summary = 5, session_log = 7.
std::string event(int64_t step) {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string message;
  put_key(message, 1, Wire::Fixed64);
  put_fixed(message, std::bit_cast<uint64_t>(now));
  put_key(message, 2, Wire::Varint);
  put_varint(message, static_cast<uint64_t>(step));
  return message;
}

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = value;
  }
  return table;
}

uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8U; }

std::filesystem::path free_name(const std::filesystem::path& folder) {
  const int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  // TensorBoard reads the files of a folder in the order of their names.
  for (int number = 0;; ++number) {
    std::filesystem::path path = folder / fmt::format("events.out.tfevents.{:010}.athanor.{:04}", seconds, number);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = ~0U;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& folder, int64_t last_step) : path_(free_name(folder)) {
  file_ = std::fopen(path_.c_str(), "wb");
  check(file_ != nullptr, "{}: cannot be written: {}; make the folder writable and go on with --resume", path_.string(),
        std::strerror(errno));
  std::string version = event(0);
  put_bytes(version, 3, "brain.Event:2");
  write_record(version);
  std::string session;  // SessionLog: status = 1, START = 1
  put_key(session, 1, Wire::Varint);
  put_varint(session, 1);
  std::string start = event(last_step + 1);
  put_bytes(start, 7, session);
  write_record(start);
}

EventFile::~EventFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void EventFile::add(int64_t step, std::span<const Scalar> scalars) {
  std::string summary;  // Summary: value = 1; Value: tag = 1, simple_value = 2 (float)
  for (const Scalar& scalar : scalars) {
    std::string value;
    put_bytes(value, 1, scalar.tag);
    put_key(value, 2, Wire::Fixed32);
    put_fixed(value, std::bit_cast<uint32_t>(static_cast<float>(scalar.value)));
    put_bytes(summary, 1, value);
  }
  std::string message = event(step);
  put_bytes(message, 5, summary);
  write_record(message);
}

void EventFile::write_record(const std::string& message) {
  std::string record;
  put_fixed(record, static_cast<uint64_t>(message.size()));
  put_fixed(record, masked_crc(record));
  record += message;
  put_fixed(record, masked_crc(message));
  const bool written = std::fwrite(record.data(), 1, record.size(), file_) == record.size() && std::fflush(file_) == 0;
  check(written, "{}: cannot be written: {}; free some space and go on with --resume", path_.string(),
        std::strerror(errno));
}

}  // namespace athanor::train
