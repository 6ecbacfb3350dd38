#include "core/base/progress.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hone {
namespace {

using std::chrono::steady_clock;

std::atomic<ProgressMode> g_mode{ProgressMode::kAuto};
std::atomic<bool> g_bar_visible{false};

ProgressMode resolve(ProgressMode mode) {
  if (mode != ProgressMode::kAuto) return mode;
  return ::isatty(STDERR_FILENO) != 0 ? ProgressMode::kBar : ProgressMode::kLines;
}

size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::string format_count(double count, const std::string& unit) {
  if (unit == "B") return format_bytes(count);
  if (count >= 1e9) return fmt::format("{:.2f}G", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.2f}M", count / 1e6);
  if (count >= 1e5) return fmt::format("{:.1f}k", count / 1e3);
  if (count >= 10 || count == std::floor(count)) return fmt::format("{:.0f}", count);
  return fmt::format("{:.2f}", count);
}

// "120/300 tokens", "1.2 GiB/3.0 GiB", "120 tokens" when the total is unknown.
std::string format_done(int64_t done, int64_t total, const std::string& unit) {
  std::string text = format_count(static_cast<double>(done), unit);
  if (total > 0) text += "/" + format_count(static_cast<double>(total), unit);
  if (unit != "B") text += " " + unit;
  return text;
}

std::string format_rate(double rate, const std::string& unit) {
  return format_count(rate, unit) + (unit == "B" ? "/s" : " " + unit + "/s");
}

// Cuts to `width` characters without splitting a UTF-8 sequence.
std::string cut(const std::string& text, size_t width) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts && characters++ == width) return text.substr(0, i);
  }
  return text;
}

void write_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

void set_progress_mode(ProgressMode mode) {
  g_mode.store(mode);
}

void clear_progress_bar() {
  if (g_bar_visible.exchange(false)) write_stderr("\r\x1b[K");
}

Progress::Progress(std::string label, int64_t total, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      exceptions_(std::uncaught_exceptions()),
      mode_(resolve(g_mode.load())),
      start_(steady_clock::now()),
      printed_(start_) {}

Progress::~Progress() {
  finish();
}

void Progress::advance(int64_t n) {
  const std::lock_guard lock(mutex_);
  done_ += n;
  if (mode_ == ProgressMode::kSilent || finished_) return;
  const auto period =
      mode_ == ProgressMode::kBar ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
  const auto now = steady_clock::now();
  if (now - printed_ < period) return;
  printed_ = now;
  print(false);
}

void Progress::note(std::string text) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(text);
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  if (mode_ != ProgressMode::kSilent) print(true);
}

void Progress::print(bool last) {
  const double elapsed = seconds_since(start_);
  const double rate = elapsed > 0 ? static_cast<double>(done_) / elapsed : 0;
  std::string tail = format_done(done_, total_, unit_);
  if (done_ > 0) tail += ", " + format_rate(rate, unit_);
  if (last) {
    const bool stopped = std::uncaught_exceptions() > exceptions_;
    tail += (stopped ? ", stopped after " : ", done in ") + format_duration(elapsed);
  } else if (total_ > 0 && done_ > 0) {
    const double left = static_cast<double>(std::max<int64_t>(total_ - done_, 0)) / rate;
    tail += ", ETA " + format_duration(left);
  }
  if (!note_.empty()) tail += ", " + note_;

  const double part =
      total_ > 0 ? std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0)
                 : 0;
  std::string percent = total_ > 0 ? fmt::format("{:3.0f}% ", std::floor(100 * part)) : "";
  if (mode_ == ProgressMode::kLines) {
    percent.erase(0, percent.find_first_not_of(' '));
    write_stderr(fmt::format("{}: {}{}\n", label_, percent, tail));
    return;
  }
  std::string bar;
  if (total_ > 0 && !last) {
    constexpr int kCells = 20;
    const auto full = static_cast<size_t>(part * kCells);
    bar = "[" + std::string(full, '#') + std::string(kCells - full, '.') + "] ";
  }
  const std::string line = fmt::format("{} {}{}{}", label_, bar, percent, tail);
  // One column less than the terminal: some wrap when the last one is filled.
  write_stderr("\r\x1b[K" + (last ? line + "\n" : cut(line, terminal_width() - 1)));
  g_bar_visible.store(!last);
}

std::string format_bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  // 1023.95 would be printed as 1024.0 of the smaller unit.
  while (std::abs(bytes) >= 1023.95 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 0.9995) return fmt::format("{:.0f}ms", seconds * 1e3);
  if (seconds < 9.95) return fmt::format("{:.1f}s", seconds);
  if (seconds >= 1e15) return "?";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

}  // namespace hone
