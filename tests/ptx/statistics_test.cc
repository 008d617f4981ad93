// Sectors, bytes and conflicts of banks, of accesses whose counts are known.
#include "tools/ptx/statistics.h"

#include <gmock/gmock.h>

#include <cstdint>

#include "tests/ptx/run_ptx.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

// Offsets l × stride.
ptx::Counts OfShared(uint64_t stride, int bytes) {
  uint64_t offsets[ptx::kLanes];
  for (uint64_t l = 0; l < ptx::kLanes; ++l) offsets[l] = l * stride;
  ptx::Statistics statistics;
  statistics.BeginLaunch("k", 32, 0);
  statistics.CountShared(~0u, offsets, bytes);
  statistics.EndLaunch();
  return statistics.kernels().at("k");
}

TEST(Statistics, LanesOfOneBankTakeTurns) {
  EXPECT_EQ(OfShared(4, 4).shared_turns, 1u);
  EXPECT_EQ(OfShared(0, 4).shared_turns, 1u);  // one word for all
  EXPECT_EQ(OfShared(8, 4).shared_turns, 2u);
  EXPECT_EQ(OfShared(128, 4).shared_turns, 32u);
  EXPECT_EQ(OfShared(132, 4).shared_turns, 1u);
}

TEST(Statistics, WideAccessesGoByPartsOfTheWarp) {
  const ptx::Counts wide = OfShared(16, 16);
  EXPECT_EQ(wide.shared_turns, 4u);
  EXPECT_EQ(wide.least_turns, 4u);
  EXPECT_EQ(OfShared(32, 16).shared_turns, 8u);
}

TEST(Statistics, SectorsOfARequestAndOfALaunch) {
  uint64_t dense[ptx::kLanes], sparse[ptx::kLanes];
  for (uint64_t l = 0; l < ptx::kLanes; ++l) {
    dense[l] = 4096 + l * 4;
    sparse[l] = 4096 + l * 256;
  }
  ptx::Statistics statistics;
  statistics.BeginLaunch("_Z1kv", 96, 512);
  statistics.CountGlobal(~0u, dense, 4, true);
  statistics.CountGlobal(~0u, dense, 4, true);
  statistics.CountGlobal(0xff, sparse, 8, false);
  statistics.EndLaunch();
  const ptx::Counts& c = statistics.kernels().at("_Z1kv");
  EXPECT_EQ(c.global_requests, 3u);
  EXPECT_EQ(c.global_sectors, 4u + 4u + 8u);
  EXPECT_EQ(c.least_sectors, 4u + 4u + 2u);
  EXPECT_EQ(c.distinct_sectors, 4u + 7u);  // both begin in one sector
  EXPECT_EQ(c.global_bytes, 128u + 128u + 64u);
  EXPECT_EQ(c.global_lanes, 32u + 32u + 8u);
  EXPECT_EQ(c.sectors_of_width[4], 4u + 4u);
  EXPECT_EQ(c.sectors_of_width[8], 0u);  // it was a store
  EXPECT_THAT(statistics.Text(), HasSubstr("     32      96      512  k()\n"));
}

}  // namespace
}  // namespace tessera::testing
