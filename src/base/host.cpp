// What is the same on every system.
#include "base/host.h"

#include <chrono>

namespace athanor {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace athanor
