// <windows.h> without its macros min, max and what nobody here needs, and the text of its errors. For the *_windows.cpp
// files alone.
#pragma once
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <string>
#include <system_error>

namespace athanor {

/// The system's text for GetLastError().
inline std::string windows_reason() { return std::system_category().message(static_cast<int>(GetLastError())); }

}  // namespace athanor
#endif
