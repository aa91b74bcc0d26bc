// Settings that make no run, whichever command was given them.
#pragma once

#include "base/error.h"

namespace athanor::train {

/// Several commands share the settings of training, so who refuses them is the command's to say; what() says `train`.
class SettingError : public Error {
 public:
  explicit SettingError(std::string said) : Error("train: " + said), said_(std::move(said)) {}
  /// What was seen and what to do, without a name before it.
  const std::string& said() const { return said_; }

 private:
  std::string said_;
};

/// Throws SettingError with the formatted message unless the condition holds; as check() does otherwise.
template <typename... Args>
void check_setting(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw SettingError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace athanor::train
