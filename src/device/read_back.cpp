// The counter beside a stream.
#include "device/read_back.h"

#include "device/device.h"

namespace athanor::device {

int64_t read_back_bytes(const Stream& stream) {
  const auto* counter = dynamic_cast<const ReadBackCounter*>(&stream);
  return counter == nullptr ? 0 : counter->read_back_bytes();
}

}  // namespace athanor::device
