// Progress with rate and ETA: a bar on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace hone {

enum class ProgressMode { kAuto, kBar, kLines, kSilent };

// How all later Progress objects print; kAuto looks whether stderr is a terminal. Set once by the
// command line (--quiet, --json).
void set_progress_mode(ProgressMode mode);

// Wipes a bar that stands on the terminal's current line, so that other text can be printed there
// (core/base/log does); the bar comes back with its next update.
void clear_progress_bar();

// Prints to stderr at most ten times a second (bar) or every ten seconds (lines). Thread-safe.
class Progress {
 public:
  // total <= 0: unknown (no ETA). `unit` is what is counted ("tokens", "tensors", "B"; "B" prints
  // binary sizes).
  Progress(std::string label, int64_t total, std::string unit);
  // Prints the closing line with the total time unless finish() did ("stopped after" when an
  // exception ends the work).
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(int64_t n = 1);
  // Short text shown after the ETA ("loss 2.31").
  void note(std::string text);
  void finish();

 private:
  void print(bool last);
  std::mutex mutex_;
  std::string label_;
  std::string unit_;
  std::string note_;
  int64_t total_;
  int64_t done_ = 0;
  bool finished_ = false;
  int exceptions_;
  ProgressMode mode_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point printed_;
};

// "1.5 GiB", "512 B".
std::string format_bytes(double bytes);
// "1m05s", "2h03m", "4.2s", "850ms"; "?" when not finite.
std::string format_duration(double seconds);

}  // namespace hone
