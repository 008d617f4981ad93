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
  statistics.CountGlobal(~0u, dense, 4, "load");
  statistics.CountGlobal(~0u, dense, 4, "load");
  statistics.CountGlobal(0xff, sparse, 8, "store");
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

// Accesses are told apart by their place, kind and width.
TEST(Statistics, AccessesAreToldApartByTheirPlace) {
  const auto module = ptx::ParseModule(R"(.version 9.0
    .visible .entry k(.param .u64 p0)
    {
      .reg .b64 %p, %at; .reg .b32 %t, %x; .reg .f32 %f<4>;
      ld.param.u64 %p, [p0];
      mov.u32 %t, %tid.x;
      mul.wide.u32 %at, %t, 16;
      add.u64 %at, %at, %p;
      .loc 1 42 3
      ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%at];
      .loc 2 7 3, function_name $L__info, inlined_at 1 43 9
      ld.global.u32 %x, [%p];
      .loc 1 44 3
      .loc 2 8 3, function_name $L__info, inlined_at 1 44 3
      .loc 3 9 3, function_name $L__info, inlined_at 2 8 3
      ld.global.u32 %x, [%p];
      st.global.u32 [%at], %x;
    }
    .file 1 "lab.cu"
    .file 2 "some.cuh"
    .file 3 "other.cuh"
)");
  const InterpretedArray<uint32_t> memory(std::vector<uint32_t>(128));
  const uint64_t address = memory.address();
  const ptx::Function& kernel = *module->Find("k");
  ptx::Statistics statistics;
  {
    const cuda_emulation::DeviceAccess access;
    ptx::Block block(kernel, {}, {32}, 0, reinterpret_cast<const char*>(&address));
    ptx::Schedule schedule;
    block.statistics = &statistics;
    statistics.BeginLaunch("k", 32, 0);
    block.Begin(0);
    while (!block.done()) block.Advance(schedule);
    statistics.EndLaunch(&kernel);
  }
  const auto& accesses = statistics.kernels().at("k").accesses;
  ASSERT_EQ(accesses.size(), 4u);
  const ptx::Requests& rows = accesses.at({"load", 16, "lab.cu:42"});
  EXPECT_EQ(rows.requests, 1u);
  EXPECT_EQ(rows.sectors, 16u);
  EXPECT_EQ(accesses.at({"load", 4, "some.cuh:7, inlined at lab.cu:43"}).sectors, 1u);
  const std::string inner = "other.cuh:9, inlined at some.cuh:8, inlined at lab.cu:44";
  EXPECT_EQ(accesses.at({"load", 4, inner}).sectors, 1u);
  EXPECT_EQ(accesses.at({"store", 4, inner}).sectors, 16u);
  // Those that touch most come first.
  EXPECT_THAT(statistics.Text(), HasSubstr("    128  load   at lab.cu:42\n"));
}

}  // namespace
}  // namespace tessera::testing
