// Log lines on stderr; results and reports go to stdout and never through here.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace hone {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Lines below `level` are dropped; the default is kInfo. Set once by the command line.
void set_log_level(LogLevel level);
[[nodiscard]] bool log_enabled(LogLevel level);

// One line: "12:34:56 warning: <text>" (level in colour on a terminal). Thread-safe; a progress bar
// on the terminal is wiped first.
void log_line(LogLevel level, std::string_view text);

template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kDebug))
    log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kInfo))
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kWarning))
    log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kError))
    log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hone
