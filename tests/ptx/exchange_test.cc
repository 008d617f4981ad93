// Shuffles, votes, matches and reductions, and the errors of wrong ones.
#include <gmock/gmock.h>

#include <bit>
#include <cstdint>

#include "tests/ptx/run_ptx.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(Exchange, Shuffles) {
  EXPECT_EQ(OfLanes("shfl.sync.bfly.b32 %result, %tid, 3, 31, -1;"),
            ForEachLane([](uint32_t l) { return l ^ 3; }));
  EXPECT_EQ(OfLanes("shfl.sync.idx.b32 %result, %tid, 5, 31, -1;"),
            ForEachLane([](uint32_t) { return 5; }));
  // Groups of eight lanes (the upper byte of the last operand are the bits that stay).
  EXPECT_EQ(OfLanes("shfl.sync.idx.b32 %result, %tid, 5, 0x181f, -1;"),
            ForEachLane([](uint32_t l) { return l / 8 * 8 + 5; }));
  EXPECT_EQ(OfLanes("shfl.sync.down.b32 %result, %tid, 3, 0x181f, -1;"),
            ForEachLane([](uint32_t l) { return l % 8 < 5 ? l + 3 : l; }));
  EXPECT_EQ(OfLanes(".reg .pred %q; shfl.sync.up.b32 %result|%q, %tid, 2, 0, -1;"
                    "@!%q add.u32 %result, %result, 100;"),
            ForEachLane([](uint32_t l) { return l < 2 ? l + 100 : l - 2; }));
}

TEST(Exchange, VotesMatchesAndReductions) {
  const std::string odd =
      ".reg .pred %q; .reg .b32 %x; and.b32 %x, %tid, 1;"
      "setp.eq.u32 %q, %x, 1;";
  EXPECT_EQ(OfLanes(odd + "vote.sync.ballot.b32 %result, %q, -1;")[9], 0xaaaaaaaa);
  EXPECT_EQ(OfLanes(odd + "vote.sync.ballot.b32 %result, !%q, -1;")[9], 0x55555555);
  EXPECT_EQ(OfLanes(odd + "vote.sync.any.pred %q, %q, -1; selp.u32 %result, 1, 0, %q;")[0], 1);
  EXPECT_EQ(OfLanes(odd + "vote.sync.all.pred %q, %q, -1; selp.u32 %result, 1, 0, %q;")[0], 0);
  EXPECT_EQ(OfLanes(odd + "match.any.sync.b32 %result, %x, -1;"),
            ForEachLane([](uint32_t l) { return l % 2 ? 0xaaaaaaaa : 0x55555555; }));
  EXPECT_EQ(OfLanes("redux.sync.add.u32 %result, %tid, -1;")[3], 496);
  EXPECT_EQ(OfLanes(".reg .b32 %x; sub.s32 %x, %tid, 9; redux.sync.min.s32 %result, %x, -1;")[0],
            static_cast<uint32_t>(-9));
}

// Halves of a warp that are apart each vote among themselves, and meet again behind the branch.
constexpr const char* kHalves = R"( .reg .pred %q; .reg .b32 %x;
    setp.lt.u32 %q, %tid, 16;
    mov.u32 %result, 0;
    @%q bra LOW;
    vote.sync.ballot.b32 %result, 1, 0xffff0000;
    bra MEET;
  LOW:
    vote.sync.ballot.b32 %result, 1, 0x0000ffff;
  MEET:
    activemask.b32 %x;
    shfl.sync.bfly.b32 %x, %tid, 16, 31, -1;
    xor.b32 %result, %result, %x;)";

TEST(Exchange, HalvesMeetAgain) {
  const auto want =
      ForEachLane([](uint32_t l) { return (l < 16 ? 0xffff : 0xffff0000) ^ (l ^ 16); });
  EXPECT_EQ(OfLanes(kHalves), want);
  for (uint32_t seed = 1; seed < 20; ++seed) {
    ptx::SetSeed(seed);
    EXPECT_EQ(OfLanes(kHalves), want) << seed;
  }
  ptx::SetSeed(0);
}

TEST(Exchange, Errors) {
  EXPECT_THAT(ErrorOf(".reg .b32 %x; shfl.sync.idx.b32 %x, %tid, 0, 31, 0xffff;"),
              HasSubstr("not in the mask that it gives"));
  const std::string half = ".reg .pred %q; .reg .b32 %x; setp.lt.u32 %q, %tid, 16;";
  EXPECT_THAT(ErrorOf(half + "@%q shfl.sync.bfly.b32 %x, %tid, 16, 31, 0x0000ffff;"),
              HasSubstr("takes no part"));
  EXPECT_THAT(ErrorOf(half + "@%q bra L; bar.sync 0; L: vote.sync.ballot.b32 %x, 1, -1;"),
              HasSubstr("lanes of its mask that do not come"));
}

}  // namespace
}  // namespace tessera::testing
