#include "core/base/threads.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

// Every index exactly once, and ranges that start at multiples of the grain.
void expect_cover(ThreadPool& pool, int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
  std::atomic<int> misaligned{0};
  pool.parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    if (begin % grain != 0 || (end % grain != 0 && end != n) || begin >= end) ++misaligned;
    for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
  });
  EXPECT_EQ(misaligned, 0);
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(hits[static_cast<size_t>(i)], 1) << "index " << i << " of " << n;
  }
}

TEST(ThreadPool, CoversTheRangeForAllShapes) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t n : {0, 1, 2, 7, 63, 64, 65, 1000}) {
      for (const int64_t grain : {1, 2, 16, 5000}) expect_cover(pool, n, grain);
    }
  }
}

TEST(ThreadPool, ManyShortJobsWithMoreThreadsThanCores) {
  ThreadPool pool(8);
  std::atomic<int64_t> sum{0};
  for (int64_t job = 0; job < 5000; ++job) {
    pool.parallel_for(1 + job % 40, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    // Now and then long enough for the workers to fall asleep.
    if (job % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  int64_t expected = 0;
  for (int64_t job = 0; job < 5000; ++job) expected += 1 + job % 40;
  EXPECT_EQ(sum, expected);
}

TEST(ThreadPool, SeveralThreadsTakePart) {
  ThreadPool pool(4);
  std::atomic<int> waiting{0};
  // Each range waits for a second one, so a pool that ran all on the caller would never end.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  pool.parallel_for(2, 1, [&](int64_t, int64_t) {
    ++waiting;
    while (waiting < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  EXPECT_EQ(waiting, 2);
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST(ThreadPool, NestedCallsRunInline) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  std::atomic<int> foreign{0};
  pool.parallel_for(10, 1, [&](int64_t begin, int64_t end) {
    const auto outer = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i) {
      pool.parallel_for(100, 1, [&](int64_t b, int64_t e) {
        if (std::this_thread::get_id() != outer) ++foreign;
        sum += e - b;
      });
    }
  });
  EXPECT_EQ(sum, 1000);
  EXPECT_EQ(foreign, 0);
}

TEST(ThreadPool, ExceptionsReachTheCallerAndThePoolStaysUsable) {
  ThreadPool pool(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> running{0};
    try {
      pool.parallel_for(100, 1, [&](int64_t begin, int64_t end) {
        ++running;
        struct Leave {
          std::atomic<int>& count;
          ~Leave() { --count; }
        } leave{running};
        if (begin <= 50 && 50 < end) throw std::runtime_error("at fifty");
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "at fifty");
      EXPECT_EQ(running, 0) << "a range outlived parallel_for";
    }
    expect_cover(pool, 64, 1);
  }
}

TEST(ThreadPool, ExceptionOfASingleRange) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.parallel_for(1, 1, [](int64_t, int64_t) { throw DataError("x"); }), DataError);
  expect_cover(pool, 10, 1);
}

TEST(ThreadPool, CallersFromSeveralThreadsTakeTurns) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        int64_t own = 0;
        std::vector<int64_t> part(32);
        pool.parallel_for(32, 1, [&](int64_t begin, int64_t end) {
          for (int64_t j = begin; j < end; ++j) part[static_cast<size_t>(j)] = j;
        });
        for (const int64_t value : part) own += value;
        sum += own;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 496);
}

TEST(ThreadPool, SumIsBitIdenticalForEveryThreadCount) {
  constexpr int64_t kItems = 100003;
  std::vector<double> values(kItems);
  Rng rng(1);
  for (double& value : values) value = rng.normal() * std::exp(10 * rng.normal());
  const auto block_sum = [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += values[static_cast<size_t>(i)];
    return sum;
  };
  // The definition, written out.
  double expected = 0;
  for (int64_t begin = 0; begin < kItems; begin += 256) {
    expected += block_sum(begin, std::min<int64_t>(begin + 256, kItems));
  }
  for (const int threads : {1, 2, 3, 5, 16}) {
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 5; ++repeat) {
      EXPECT_EQ(pool.parallel_sum(kItems, 256, block_sum), expected) << threads << " threads";
    }
  }
  ThreadPool pool(2);
  EXPECT_EQ(pool.parallel_sum(0, 4, block_sum), 0);
  EXPECT_EQ(pool.parallel_sum(3, 100, block_sum), block_sum(0, 3));
}

TEST(ThreadPool, GlobalPoolIsReplaced) {
  EXPECT_GE(ThreadPool::global().threads(), 1);
  ThreadPool::set_threads(3);
  EXPECT_EQ(ThreadPool::global().threads(), 3);
  expect_cover(ThreadPool::global(), 100, 1);
  ThreadPool::set_threads(1);
  EXPECT_EQ(ThreadPool::global().threads(), 1);
}

TEST(ThreadPool, RefusesWrongArguments) {
  EXPECT_THROW(ThreadPool(0), UsageError);
  EXPECT_THROW(ThreadPool(-1), UsageError);
  EXPECT_THROW(ThreadPool(100000), UsageError);
  ThreadPool pool(2);
  EXPECT_THROW(pool.parallel_for(4, 0, [](int64_t, int64_t) {}), InternalError);
  EXPECT_THROW(pool.parallel_sum(4, 0, [](int64_t, int64_t) { return 0.0; }), InternalError);
}

}  // namespace
}  // namespace hone
