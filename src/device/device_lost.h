// The error of a device that is gone: the trainer catches it, reopens the device once and goes on from its last checkpoint.
#pragma once

#include "base/error.h"

namespace athanor::device {

/// Its message starts with "device lost". Every later call on the device throws it again.
class DeviceLost : public Error {
 public:
  using Error::Error;
};

}  // namespace athanor::device
