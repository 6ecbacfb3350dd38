#include "core/base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include "core/base/error.h"

namespace hone {
namespace {

// Ranges per thread. More than one, so that a thread whose core is taken away by another process
// holds up a quarter of its share only.
constexpr int64_t kRangesPerThread = 4;

// How long an idle thread looks for work before it sleeps. Longer than the gap between two ops of
// a decode step, short against a scheduler slice.
constexpr std::chrono::microseconds kSpin{40};

// Set while this thread runs a body: a nested call then runs inline.
thread_local bool t_inside = false;

void relax() {
  __builtin_ia32_pause();
}

// Looks at `ready` until it is true or the spin time is over. The second half yields, which lets
// the thread that holds the work run when there are more threads than free cores.
template <typename Ready>
bool spin_until(Ready ready) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      relax();
    }
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > kSpin) return ready();
    if (waited > kSpin / 2) std::this_thread::yield();
  }
}

// CPUs that this process may use: the affinity mask, and a container's quota (cgroup v2), which
// hardware_concurrency() does not know.
int available_cpus() {
  int cpus = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (file >> quota >> period && quota != "max" && period > 0) {
    char* end = nullptr;
    const double time = std::strtod(quota.c_str(), &end);
    if (*end == '\0' && time > 0) {
      cpus = std::min(cpus, std::max(1, static_cast<int>(std::ceil(time / period))));
    }
  }
  return cpus;
}

}  // namespace

// One job at a time. `ticket` holds (job number << 32 | ranges not yet claimed); a range is claimed
// by decrementing it with compare-exchange, which fails for a thread that still looks at an older
// job. The job's fields are read only after a successful claim: they stay until `pending`, the
// number of ranges not yet finished, is zero.
struct ThreadPool::State {
  explicit State(int thread_count) : threads(thread_count) {}

  const int threads;
  std::mutex caller;  // held by the thread whose job runs

  const std::function<void(int64_t, int64_t)>* body = nullptr;
  int64_t n = 0;
  int64_t grain = 1;
  int64_t units = 0;
  int64_t ranges = 0;
  std::mutex error_mutex;
  std::exception_ptr error;
  std::atomic<bool> failed{false};

  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<uint32_t> pending{0};
  alignas(64) std::atomic<uint32_t> wake{0};  // changes when sleepers are to look again
  std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};

  std::vector<std::thread> workers;

  [[nodiscard]] static uint32_t unclaimed(uint64_t value) { return static_cast<uint32_t>(value); }

  // Claims and runs ranges until none is left.
  void work() {
    uint64_t seen = ticket.load(std::memory_order_acquire);
    while (unclaimed(seen) > 0) {
      if (!ticket.compare_exchange_weak(
              seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire
          )) {
        continue;
      }
      run(ranges - unclaimed(seen));
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  void run(int64_t range) {
    if (failed.load(std::memory_order_relaxed)) return;
    const int64_t begin = units * range / ranges * grain;
    const int64_t end = std::min(n, units * (range + 1) / ranges * grain);
    try {
      (*body)(begin, end);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      failed.store(true, std::memory_order_relaxed);
    }
  }

  void loop() {
    t_inside = true;
    const auto ready = [this] {
      return unclaimed(ticket.load(std::memory_order_acquire)) > 0 || stop.load();
    };
    while (!stop.load()) {
      work();
      if (spin_until(ready)) continue;
      // The publisher stores the ticket first and then looks for sleepers; here it is the other
      // way round (all sequentially consistent), so one of both sees the other.
      const uint32_t before = wake.load();
      sleepers.fetch_add(1);
      if (unclaimed(ticket.load()) == 0 && !stop.load()) wake.wait(before);
      sleepers.fetch_sub(1);
    }
  }

  void wake_up(int64_t count) {
    const int sleeping = sleepers.load();
    if (sleeping == 0) return;
    wake.fetch_add(1);
    if (count >= sleeping) {
      wake.notify_all();
    } else {
      for (int64_t i = 0; i < count; ++i) wake.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) {
  require(threads >= 1 && threads <= 4096, "threads: expected 1 to 4096, found {}", threads);
  state_ = std::make_unique<State>(threads);
  state_->workers.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) {
    state_->workers.emplace_back([state = state_.get()] { state->loop(); });
    ::pthread_setname_np(state_->workers.back().native_handle(), "hone-worker");
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true);
  state_->wake.fetch_add(1);
  state_->wake.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const {
  return state_->threads;
}

void ThreadPool::parallel_for(
    int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body
) {
  check(grain >= 1, "parallel_for: grain is {}", grain);
  if (n <= 0) return;
  State& s = *state_;
  const int64_t units = (n - 1) / grain + 1;
  if (s.threads == 1 || units == 1 || t_inside) {
    body(0, n);
    return;
  }
  const std::lock_guard lock(s.caller);
  s.body = &body;
  s.n = n;
  s.grain = grain;
  s.units = units;
  s.ranges = std::min(units, kRangesPerThread * s.threads);
  s.failed.store(false, std::memory_order_relaxed);
  s.pending.store(static_cast<uint32_t>(s.ranges), std::memory_order_relaxed);
  const uint64_t job = (s.ticket.load(std::memory_order_relaxed) >> 32) + 1;
  s.ticket.store(job << 32 | static_cast<uint64_t>(s.ranges));
  s.wake_up(s.ranges - 1);

  t_inside = true;
  s.work();
  t_inside = false;
  const auto finished = [&s] { return s.pending.load(std::memory_order_acquire) == 0; };
  if (!spin_until(finished)) {
    uint32_t left;
    while ((left = s.pending.load(std::memory_order_acquire)) != 0) s.pending.wait(left);
  }
  if (s.failed.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(s.error, {}));
}

double ThreadPool::parallel_sum(
    int64_t n, int64_t block, const std::function<double(int64_t, int64_t)>& body
) {
  check(block >= 1, "parallel_sum: block is {}", block);
  if (n <= 0) return 0;
  const int64_t blocks = (n - 1) / block + 1;
  std::vector<double> partial(static_cast<size_t>(blocks));
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      partial[static_cast<size_t>(i)] = body(i * block, std::min(n, (i + 1) * block));
    }
  });
  double sum = 0;
  for (const double value : partial) sum += value;
  return sum;
}

namespace {

std::mutex g_pool_mutex;
std::atomic<ThreadPool*> g_pool{nullptr};

std::unique_ptr<ThreadPool>& owned_pool() {
  static std::unique_ptr<ThreadPool> pool;
  return pool;
}

}  // namespace

ThreadPool& ThreadPool::global() {
  if (ThreadPool* pool = g_pool.load(std::memory_order_acquire)) return *pool;
  const std::lock_guard lock(g_pool_mutex);
  if (owned_pool() == nullptr) {
    owned_pool() = std::make_unique<ThreadPool>(available_cpus());
    g_pool.store(owned_pool().get(), std::memory_order_release);
  }
  return *owned_pool();
}

void ThreadPool::set_threads(int threads) {
  const std::lock_guard lock(g_pool_mutex);
  auto fresh = std::make_unique<ThreadPool>(threads);
  g_pool.store(fresh.get(), std::memory_order_release);
  owned_pool() = std::move(fresh);
}

}  // namespace hone
