#include "runtime/base/start_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>

namespace tessera {
namespace {

TEST(StartThreads, EachRunsWithItsNumber) {
  std::vector<std::thread> threads;
  std::atomic<int> sum{0};
  StartThreads(threads, 4, "adder", [&](int i) { sum += i; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_EQ(sum, 6);
}

// A value that can be copied only so often stands for a machine without room for another thread.
template <typename Failure>
struct FailsToBeCopied {
  FailsToBeCopied(int copies, const Failure& failure)
      : left(std::make_shared<int>(copies)), failure(failure) {}
  FailsToBeCopied(const FailsToBeCopied& other) : left(other.left), failure(other.failure) {
    if ((*left)-- <= 0) throw failure;
  }
  std::shared_ptr<int> left;
  Failure failure;
};

// Starts 1000 threads, one of whose first six fails; returns what was thrown.
template <typename Failure>
std::string StartWithout(const Failure& failure) {
  std::vector<std::thread> threads;
  std::atomic<int> worked{0};
  const FailsToBeCopied<Failure> probe(1000, failure);
  const std::function<void(int)> work = [&, probe](int) { ++worked; };
  *probe.left = 6;
  std::string what;
  try {
    StartThreads(threads, 1000, "waiter", work);
  } catch (const std::exception& error) {
    what = error.what();
  }
  EXPECT_TRUE(threads.empty());
  EXPECT_EQ(worked, 0);
  return what;
}

TEST(StartThreads, WhereOneCannotBeginNoneWorks) {
  EXPECT_EQ(StartWithout(std::runtime_error("no room")), "no room");
}

TEST(StartThreads, WithoutMemoryTheErrorNamesTheThread) {
  EXPECT_THAT(StartWithout(std::bad_alloc()),
              testing::MatchesRegex("waiter [1-7] of 1000 cannot be started: no memory is left; "
                                    "ask for fewer threads"));
}

}  // namespace
}  // namespace tessera
