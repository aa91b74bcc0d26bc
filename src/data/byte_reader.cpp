// gzip by zlib, zstd by libzstd; several packed streams one after the other are one text, as gzip and zstd themselves read them.
#include "data/byte_reader.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace athanor::data {

namespace {

constexpr size_t kInputBytes = 128 << 10;
constexpr std::string_view kGzipMark = "\x1F\x8B";
constexpr std::string_view kZstdMark = "\x28\xB5\x2F\xFD";
constexpr int kGzipOnly = 15 + 16;  // zlib: the largest window, a gzip header

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct FreeZstd {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};
struct FreeGzip {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};

}  // namespace

struct ByteReader::State {
  std::filesystem::path path;
  std::unique_ptr<std::FILE, CloseFile> file;
  std::vector<char> input;
  size_t begin = 0;  // of what is left in input
  size_t end = 0;
  std::unique_ptr<z_stream, FreeGzip> gzip;
  std::unique_ptr<ZSTD_DStream, FreeZstd> zstd;
  bool in_stream = false;  // a packed stream was begun and has not ended

  /// Reads on when nothing is left; false at the end of the file.
  bool refill() {
    if (begin < end) return true;
    begin = 0;
    end = std::fread(input.data(), 1, input.size(), file.get());
    check(end > 0 || std::ferror(file.get()) == 0, "{}: cannot be read: {}; check the disk", path.string(),
          std::generic_category().message(errno));
    return end > 0;
  }

  size_t read_plain(std::span<char> out) {
    if (!refill()) return 0;
    const size_t count = std::min(out.size(), end - begin);
    std::memcpy(out.data(), input.data() + begin, count);
    begin += count;
    return count;
  }

  void check_not_cut_off(std::string_view kind) const {
    check(!in_stream, "{}: its {} data end early; the file is cut off: fetch or write it again", path.string(), kind);
  }

  size_t read_gzip(std::span<char> out) {
    while (refill()) {
      if (!in_stream) {
        // zeros may fill the file up to a block's end, as gzip allows
        if (input[begin] == 0) {
          ++begin;
          continue;
        }
        check(inflateReset(gzip.get()) == Z_OK, "{}: gzip data cannot be unpacked", path.string());
        in_stream = true;
      }
      gzip->next_in = reinterpret_cast<Bytef*>(input.data() + begin);
      gzip->avail_in = static_cast<uInt>(end - begin);
      gzip->next_out = reinterpret_cast<Bytef*>(out.data());
      gzip->avail_out = static_cast<uInt>(out.size());
      const int result = inflate(gzip.get(), Z_NO_FLUSH);
      begin = end - gzip->avail_in;
      check(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR,
            "{}: its gzip data are damaged: {}; fetch or write it again", path.string(),
            gzip->msg != nullptr ? gzip->msg : "they do not unpack");
      if (result == Z_STREAM_END) in_stream = false;
      if (const size_t count = out.size() - gzip->avail_out; count > 0) return count;
    }
    return drain_gzip(out);
  }

  /// What zlib still holds when the file has ended.
  size_t drain_gzip(std::span<char> out) {
    if (!in_stream) return 0;
    gzip->avail_in = 0;
    gzip->next_out = reinterpret_cast<Bytef*>(out.data());
    gzip->avail_out = static_cast<uInt>(out.size());
    if (inflate(gzip.get(), Z_NO_FLUSH) == Z_STREAM_END) in_stream = false;
    const size_t count = out.size() - gzip->avail_out;
    if (count == 0) check_not_cut_off("gzip");
    return count;
  }

  size_t read_zstd(std::span<char> out) {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos == 0) {
      const bool has_input = refill();
      ZSTD_inBuffer packed{input.data(), end, begin};
      const size_t result = ZSTD_decompressStream(zstd.get(), &output, &packed);
      check(ZSTD_isError(result) == 0, "{}: its zstd data are damaged: {}; fetch or write it again", path.string(),
            ZSTD_getErrorName(result));
      if (has_input || output.pos > 0) in_stream = result != 0;
      begin = packed.pos;
      if (!has_input && output.pos == 0) {
        check_not_cut_off("zstd");
        break;
      }
    }
    return output.pos;
  }

  void recognize() {
    refill();
    const std::string_view first(input.data(), end);
    if (first.starts_with(kGzipMark)) {
      gzip.reset(new z_stream{});
      check(inflateInit2(gzip.get(), kGzipOnly) == Z_OK, "{}: gzip data cannot be unpacked: no memory", path.string());
    } else if (first.starts_with(kZstdMark)) {
      zstd.reset(ZSTD_createDStream());
      check(zstd != nullptr, "{}: zstd data cannot be unpacked: no memory", path.string());
    }
  }
};

ByteReader::ByteReader(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  check(std::filesystem::exists(status), "{}: cannot be read: {}; check the path and its permissions", path.string(),
        error ? error.message() : "there is no such file");
  check(!std::filesystem::is_directory(status), "{}: is a folder; give a file", path.string());
  // Opening a pipe would wait for its writer.
  check(std::filesystem::is_regular_file(status), "{}: is not a regular file; copy it into one first", path.string());
  state_->path = path;
  state_->file.reset(std::fopen(path.string().c_str(), "rb"));
  check(state_->file != nullptr, "{}: cannot be read: {}; check the path and its permissions", path.string(),
        std::generic_category().message(errno));
  std::setvbuf(state_->file.get(), nullptr, _IONBF, 0);  // input is the buffer
  state_->input.resize(kInputBytes);
  state_->recognize();
}

ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;
ByteReader::~ByteReader() = default;

size_t ByteReader::read(std::span<char> out) {
  size_t filled = 0;
  while (filled < out.size()) {
    const std::span<char> rest = out.subspan(filled);
    const size_t count = state_->gzip   ? state_->read_gzip(rest)
                         : state_->zstd ? state_->read_zstd(rest)
                                        : state_->read_plain(rest);
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

bool ByteReader::is_packed() const { return state_->gzip != nullptr || state_->zstd != nullptr; }

}  // namespace athanor::data
