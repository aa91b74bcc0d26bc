// A WebGPU object that is released with its owner.
#pragma once

#include <utility>

namespace athanor::device::webgpu {

template <typename Handle>
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, void (*release)(Handle)) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), release_(std::exchange(other.release_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    other.reset();
    return *this;
  }
  ~Owned() { reset(); }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  void reset() {
    if (handle_ != nullptr) release_(std::exchange(handle_, nullptr));
  }

 private:
  Handle handle_ = nullptr;
  void (*release_)(Handle) = nullptr;
};

}  // namespace athanor::device::webgpu
