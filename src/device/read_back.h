// How much a stream has sent back to the host, as far as its device counts it.
#pragma once

#include <cstdint>

namespace athanor::device {

class Stream;

/// What a stream that counts is derived from besides.
class ReadBackCounter {
 public:
  int64_t read_back_bytes() const { return bytes_; }

 protected:
  ~ReadBackCounter() = default;
  void count_read_back(int64_t bytes) { bytes_ += bytes; }

 private:
  int64_t bytes_ = 0;
};

/// Bytes that downloads and readbacks of this stream were asked for so far; a steady training step asks for a few numbers. 0 for a dry device.
int64_t read_back_bytes(const Stream& stream);

}  // namespace athanor::device
