#include "runtime/base/start_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <system_error>

namespace tessera {
namespace {

TEST(StartThreads, EachRunsWithItsNumber) {
  std::vector<std::thread> threads;
  std::atomic<int> sum{0};
  StartThreads(
      threads, 4, "adder", [&](int i) { sum += i; }, [] {});
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_EQ(sum, 6);
}

// A value that can be copied only so often stands for a system without room for another thread.
struct FailsToBeCopied {
  explicit FailsToBeCopied(int copies) : left(std::make_shared<int>(copies)) {}
  FailsToBeCopied(const FailsToBeCopied& other) : left(other.left) {
    if ((*left)-- <= 0)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  std::shared_ptr<int> left;
};

TEST(StartThreads, WhereOneCannotBeginThoseBeforeItEnd) {
  std::vector<std::thread> threads;
  std::promise<void> stop;
  const std::shared_future<void> stopped = stop.get_future().share();
  std::atomic<int> ended{0}, begun{0};
  const FailsToBeCopied probe(1000);
  const std::function<void(int)> wait = [&, probe](int) {
    ++begun;
    stopped.wait();
    ++ended;
  };
  *probe.left = 6;
  EXPECT_THROW(StartThreads(threads, 1000, "waiter", wait, [&] { stop.set_value(); }),
               std::exception);
  EXPECT_TRUE(threads.empty());
  EXPECT_EQ(begun, ended);
  EXPECT_GT(ended, 0);
}

}  // namespace
}  // namespace tessera
