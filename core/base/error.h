// Errors and checks.
//
// Expected outcomes (queue full, token rejected, verdict negative) are return values; everything
// below is thrown. The message names the file, tensor or field, the value found, the value
// expected, and what to do next.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace hone {

// Base of all errors thrown by Hone.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The caller asked for something impossible: wrong flag, shape or combination. Exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Input from outside (file, request, corpus) is broken. Exit code 1.
class DataError : public Error {
 public:
  using Error::Error;
};

// A device call failed (CUDA, cuBLASLt, NCCL); the message names the call. Exit code 1.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// An invariant of Hone itself is broken: a bug. Exit code 1.
class InternalError : public Error {
 public:
  using Error::Error;
};

// Throws UsageError with the formatted message unless `ok`.
template <typename... Args>
void require(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

// Throws DataError with the formatted message unless `ok`.
template <typename... Args>
void require_data(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    throw DataError(fmt::format(format, std::forward<Args>(args)...));
}

// Throws InternalError with the formatted message unless `ok`.
template <typename... Args>
void check(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    throw InternalError(fmt::format(format, std::forward<Args>(args)...));
}

#ifdef HONE_DCHECK
inline constexpr bool kDcheck = true;
#else
inline constexpr bool kDcheck = false;
#endif

// check() in builds with HONE_DCHECK (dev, asan, tsan); free elsewhere. For hot loops.
template <typename... Args>
void dcheck(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if constexpr (kDcheck) check(ok, format, std::forward<Args>(args)...);
}

}  // namespace hone
