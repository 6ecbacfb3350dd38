#include "core/base/cancel.h"

#include <atomic>
#include <cerrno>
#include <csignal>

namespace hone {
namespace {

std::atomic<bool> g_cancelled{false};
std::atomic<int> g_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void on_cancel_signal(int signal) {
  const int saved = errno;
  if (g_cancelled.exchange(true)) {
    // The user insists. Outputs under construction keep their temporary names.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  g_signal.store(signal);
  errno = saved;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_cancel_signal;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) {
    check(::sigaction(signal, &action, nullptr) == 0, "sigaction({}) failed", signal);
  }
}

bool cancelled() noexcept {
  return g_cancelled.load(std::memory_order_relaxed);
}

int cancel_signal() noexcept {
  return g_signal.load();
}

void throw_if_cancelled() {
  if (!cancelled()) return;
  const int signal = cancel_signal();
  throw Cancelled(
      signal == SIGTERM  ? "stopped by SIGTERM"
      : signal == SIGINT ? "interrupted (Ctrl-C)"
                         : "cancelled"
  );
}

void request_cancel() noexcept {
  g_cancelled.store(true);
}

void reset_cancel() noexcept {
  g_signal.store(0);
  g_cancelled.store(false);
}

}  // namespace hone
