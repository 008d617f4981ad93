#include "comm/awaitable.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tessera {
namespace {

static_assert(!std::is_copy_constructible_v<Awaitable<int>>);
static_assert(std::is_nothrow_move_constructible_v<Awaitable<int>>);

TEST(Awaitable, CallsOnceWhenWaitedFor) {
  int calls = 0;
  Awaitable<int> result([&] { return ++calls; });
  EXPECT_TRUE(result.valid());
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(result.Wait(), 1);
  EXPECT_FALSE(result.valid());
  EXPECT_THROW(result.Wait(), Error);
  EXPECT_EQ(calls, 1);
}

TEST(Awaitable, EmptyOnesThrow) {
  EXPECT_THROW(Awaitable<int>().Wait(), Error);
  EXPECT_THROW(Awaitable<void>().Wait(), Error);
}

TEST(Awaitable, MovesLeaveNothingBehind) {
  Awaitable<int> a([] { return 5; });
  Awaitable<int> b = std::move(a);
  EXPECT_FALSE(a.valid());
  EXPECT_EQ(b.Wait(), 5);
}

TEST(Awaitable, ThenRunsInWait) {
  std::string order;
  Awaitable<void> first([&] { order += "a"; });
  Awaitable<std::unique_ptr<int>> second = first.Then([&] {
    order += "b";
    return std::make_unique<int>(3);
  });
  Awaitable<int> third = second.Then([&](std::unique_ptr<int> p) {
    order += "c";
    return *p;
  });
  EXPECT_FALSE(first.valid());
  EXPECT_EQ(order, "");
  EXPECT_EQ(third.Wait(), 3);
  EXPECT_EQ(order, "abc");
}

TEST(Awaitable, WaitThrowsWhatTheCallFailedWith) {
  Awaitable<int> result([]() -> int { throw Error("lost"); });
  bool reached = false;
  Awaitable<void> after = result.Then([&](int) { reached = true; });
  EXPECT_THROW(after.Wait(), Error);
  EXPECT_FALSE(reached);
}

}  // namespace
}  // namespace tessera
