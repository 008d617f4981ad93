#include "runtime/base/checksums.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// Pieces of 4 MiB: none, a part of one, some whole ones, and a rest.
TEST(Checksums, ThreadsTogetherFindWhatOneFinds) {
  std::vector<uint32_t> words((9 << 20) / sizeof(uint32_t) + 10);
  uint32_t state = 1;
  for (uint32_t& word : words) word = state = state * 1664525 + 1013904223;
  for (const int64_t count : {0, 1, 1000, 4 << 20, (4 << 20) + 1, 8 << 20, (9 << 20) + 37}) {
    const uint32_t expected = Crc32(0, words.data(), count);
    for (const int threads : {1, 2, 3, 8})
      EXPECT_EQ(ParallelCrc32(words.data(), count, threads), expected) << count << " " << threads;
  }
}

}  // namespace
}  // namespace tessera
