// One persistent thread pool; results never depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace hone {

// A fork-join pool. The calling thread takes part, so threads == 1 runs inline. parallel_for may
// be called from one thread at a time per pool (others wait); nested calls run inline.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const;

  // Calls body(begin, end) over disjoint ranges that cover [0, n). Range boundaries are multiples
  // of `grain` (grain >= 1), independent of the thread count except for which neighbours are
  // merged; a body must therefore not let its result depend on the range it gets. The first
  // exception is rethrown here after all ranges have ended.
  void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

  // sum over blocks of body(begin, end), blocks of exactly `block` items (the last may be
  // shorter), added in block order: bit-identical for every thread count.
  double parallel_sum(
      int64_t n, int64_t block, const std::function<double(int64_t, int64_t)>& body
  );

  // The process-wide pool. Its size is hardware_concurrency until set_threads().
  static ThreadPool& global();
  // Replaces the global pool. Not while it is in use.
  static void set_threads(int threads);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
