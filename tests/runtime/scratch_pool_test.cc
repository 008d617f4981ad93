#include "runtime/device/scratch_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/testing/allocation_counter.h"

namespace tessera {
namespace {

TEST(ScratchPoolTest, BlocksAreAlignedAndAsLargeAsAsked) {
  for (size_t bytes = 0; bytes < 200'000; bytes = bytes * 2 + 1) {
    void* block = TakeScratch(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kScratchAlignment, 0u) << bytes;
    std::memset(block, 1, bytes);
    GiveScratch(block, bytes);
  }
}

TEST(ScratchPoolTest, LiveBlocksAreDistinct) {
  ScratchVector<ScratchVector<int>> vectors;
  for (int i = 0; i < 1000; ++i) {
    vectors.emplace_back(static_cast<size_t>(i % 50), i);
    if (i % 3 == 0) vectors.erase(vectors.begin() + i / 6);
  }
  for (const ScratchVector<int>& vector : vectors)
    for (const int value : vector) EXPECT_EQ(value, vector[0]);
}

TEST(ScratchPoolTest, WhatWasGivenBackServesAgain) {
  if (!CountsAllocations()) GTEST_SKIP() << "SKIPPED: nothing is kept under sanitizers";
  const auto work = [] {
    ScratchVector<int64_t> numbers;
    for (int64_t i = 0; i < 8000; ++i) numbers.push_back(i);
    EXPECT_EQ(*MakeScratch<int64_t>(numbers.back()), 7999);
  };
  work();
  EXPECT_EQ(CountAllocations(work), 0);
}

TEST(ScratchPoolTest, OneThreadMayAlwaysTakeAndAnotherAlwaysGiveBack) {
  if (!CountsAllocations()) GTEST_SKIP() << "SKIPPED: nothing is kept under sanitizers";
  ScratchVector<ScratchVector<int>> made(100);
  std::atomic<int> turn = 0;
  std::thread maker([&] {
    for (int step = 0; step < 20; ++step) {
      while (turn != 2 * step) std::this_thread::yield();
      for (ScratchVector<int>& vector : made) vector.assign(200, step);
      ++turn;
    }
  });
  const auto take_turn = [&](int step) {
    while (turn != 2 * step + 1) std::this_thread::yield();
    for (ScratchVector<int>& vector : made) vector = {};
    ++turn;
  };
  for (int step = 0; step < 15; ++step) take_turn(step);
  EXPECT_EQ(CountAllocations([&] {
              take_turn(15);
              take_turn(16);
              take_turn(17);
            }),
            0);
  for (int step = 18; step < 20; ++step) take_turn(step);
  maker.join();
}

TEST(ScratchPoolTest, AnotherThreadMayGiveBack) {
  for (int i = 0; i < 20; ++i) {
    auto vector = std::make_unique<ScratchVector<int>>(1000, i);
    std::thread([&] { vector.reset(); }).join();
  }
}

}  // namespace
}  // namespace tessera
