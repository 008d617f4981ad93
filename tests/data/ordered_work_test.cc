// Items of several threads come in their order, and so do errors.
#include "data/ordered_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "runtime/base/check.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;

// Counts to `count` in slots, and squares what it counted.
struct Squares {
  int64_t count = 0, bad_read = -1, bad_work = -1;
  int64_t next = 0;
  std::vector<int64_t> slots = std::vector<int64_t>(5);
  std::atomic<int> readers{0};

  OrderedWork::Steps Steps() {
    return {.read =
                [this](size_t slot) {
                  if (readers.fetch_add(1) != 0) ADD_FAILURE() << "two read at a time";
                  const bool more = next < count;
                  slots[slot] = next++;
                  readers.fetch_sub(1);
                  if (slots[slot] == bad_read) throw Error("read");
                  return more;
                },
            .work =
                [this](size_t slot) {
                  if (slots[slot] == bad_work) throw Error("work");
                  slots[slot] *= slots[slot];
                }};
  }
};

TEST(OrderedWork, ItemsComeInTheOrderInWhichTheyWereRead) {
  for (const int threads : {1, 2, 3, 8}) {
    Squares squares{.count = 2000};
    OrderedWork work(threads, squares.slots.size(), squares.Steps());
    for (int64_t i = 0; i < squares.count; ++i) {
      const auto slot = work.Next();
      ASSERT_TRUE(slot.has_value()) << i << " of " << threads << " threads";
      ASSERT_EQ(squares.slots[*slot], i * i) << threads << " threads";
    }
    EXPECT_FALSE(work.Next().has_value());
    EXPECT_FALSE(work.Next().has_value());
  }
}

TEST(OrderedWork, ErrorsComeAfterTheItemsBeforeThemAndStay) {
  for (const int threads : {1, 2, 8})
    for (const bool reads : {false, true}) {
      Squares squares{.count = 100};
      (reads ? squares.bad_read : squares.bad_work) = 40;
      OrderedWork work(threads, squares.slots.size(), squares.Steps());
      for (int64_t i = 0; i < 40; ++i) ASSERT_EQ(squares.slots[work.Next().value()], i * i);
      for (int again = 0; again < 2; ++again)
        EXPECT_EQ(ErrorOf([&] { work.Next(); }), reads ? "read" : "work");
    }
}

TEST(OrderedWork, NobodyNeedsToAskForAllItems) {
  for (const int threads : {1, 2, 8})
    for (int64_t asked = 0; asked < 8; ++asked) {
      Squares squares{.count = 1000};
      OrderedWork work(threads, squares.slots.size(), squares.Steps());
      for (int64_t i = 0; i < asked; ++i) ASSERT_EQ(squares.slots[work.Next().value()], i * i);
    }
}

TEST(OrderedWork, NoMoreItemsAreReadThanThereAreSlots) {
  Squares squares{.count = 1000};
  {
    OrderedWork work(3, squares.slots.size(), squares.Steps());
    ASSERT_EQ(squares.slots[work.Next().value()], 0);
    ASSERT_EQ(squares.slots[work.Next().value()], 1);
  }
  EXPECT_LE(squares.next, 2 + std::ssize(squares.slots));
}

}  // namespace
}  // namespace tessera
