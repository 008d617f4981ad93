#include "runtime/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/base/check.h"

namespace tessera {
namespace {

TEST(ThreadPool, VisitsEveryItemOnceInPiecesOfTheGrain) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int64_t n : {0, 1, 7, 1000}) {
      for (const int64_t grain : {1, 3, 2000}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(n));
        pool.For(n, grain, [&](int64_t begin, int64_t end) {
          EXPECT_TRUE(begin % grain == 0 && (end == n || end == begin + grain));
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        for (const auto& v : visits) ASSERT_EQ(v, 1);
      }
    }
  }
}

TEST(ThreadPool, UsesItsThreads) {
  ThreadPool pool(2);
  std::atomic<int> met = 0;
  // Each piece waits for the other: one thread alone would never end.
  pool.For(2, 1, [&](int64_t, int64_t) {
    ++met;
    while (met < 2) std::this_thread::yield();
  });
  EXPECT_EQ(met, 2);
}

TEST(ThreadPool, RethrowsAndGoesOnWorking) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(pool.For(100, 1,
                          [&](int64_t i, int64_t) {
                            if (i == 37) throw std::runtime_error("37");
                          }),
                 std::runtime_error);
    std::atomic<int> sum = 0;
    pool.For(10, 1, [&](int64_t i, int64_t) { sum += static_cast<int>(i); });
    EXPECT_EQ(sum, 45);
  }
}

TEST(ThreadPool, LoopsInsideLoopsAndOfOtherThreadsAreFine) {
  ThreadPool pool(3);
  std::atomic<int> sum = 0;
  pool.For(4, 1, [&](int64_t, int64_t) { pool.For(5, 1, [&](int64_t, int64_t) { ++sum; }); });
  EXPECT_EQ(sum, 20);
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) pool.For(8, 1, [&](int64_t, int64_t) { ++sum; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 20 + 4 * 50 * 8);
}

TEST(ThreadPool, RefusesANegativeNumberOfThreads) { EXPECT_THROW(ThreadPool(-1), Error); }

}  // namespace
}  // namespace tessera
