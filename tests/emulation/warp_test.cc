// Lanes of a warp: shuffles, ballots, masks.
#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/emulation/run_kernel.h"

namespace tessera::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr unsigned kAll = ~0u;
int Lane() { return static_cast<int>(threadIdx.x % 32); }

// Lane l's result, worked out by hand.
void ExpectLanes(const std::vector<int>& got, int (*expected)(int lane)) {
  for (int l = 0; l < 32; ++l) EXPECT_EQ(got[static_cast<size_t>(l)], expected(l)) << "lane " << l;
}

TEST(Shuffle, FromOneLane) {
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_sync(kAll, Lane() * 2, 5); }),
              [](int) { return 10; });
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_sync(kAll, Lane(), 35); }),
              [](int) { return 3; });
}

TEST(Shuffle, FromALaneOfEachGroup) {
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_sync(kAll, Lane(), 3, 8); }),
              [](int l) { return l / 8 * 8 + 3; });
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_sync(kAll, Lane(), 9, 8); }),
              [](int l) { return l / 8 * 8 + 1; });
}

TEST(Shuffle, UpAndDownKeepTheirOwnAtTheEnds) {
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_up_sync(kAll, Lane(), 3); }),
              [](int l) { return l < 3 ? l : l - 3; });
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_down_sync(kAll, Lane(), 3); }),
              [](int l) { return l > 28 ? l : l + 3; });
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_up_sync(kAll, Lane(), 1, 4); }),
              [](int l) { return l % 4 == 0 ? l : l - 1; });
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_down_sync(kAll, Lane(), 2, 4); }),
              [](int l) { return l % 4 > 1 ? l : l + 2; });
}

TEST(Shuffle, ByXor) {
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_xor_sync(kAll, Lane(), 16); }),
              [](int l) { return l ^ 16; });
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_xor_sync(kAll, Lane(), 1, 2); }),
              [](int l) { return l ^ 1; });
}

// Lanes read from a group before their own, and not from one after it, as hardware does.
TEST(Shuffle, ByXorBeyondItsGroup) {
  ExpectLanes(OfEachLane(+[](int* p) { p[Lane()] = __shfl_xor_sync(kAll, Lane(), 8, 8); }),
              [](int l) { return (l ^ 8) < l ? l ^ 8 : l; });
}

TEST(Shuffle, CarriesEightBytes) {
  EXPECT_THAT(OfEachLane(+[](double* p) {
                double sum = 0.5;
                for (int flip = 16; flip > 0; flip /= 2) sum += __shfl_xor_sync(kAll, sum, flip);
                p[Lane()] = sum;
              }),
              Each(16.0));
}

TEST(Ballot, NamesTheLanesThatSaySo) {
  EXPECT_THAT(OfEachLane(+[](unsigned* p) { p[Lane()] = __ballot_sync(kAll, Lane() % 2 == 1); }),
              Each(0xaaaaaaaau));
  EXPECT_THAT(OfEachLane(+[](int* p) {
                p[Lane()] = __any_sync(kAll, Lane() == 7) * 100 + __any_sync(kAll, 0) * 10 +
                            __all_sync(kAll, Lane() >= 0) - __all_sync(kAll, Lane() < 31);
              }),
              Each(101));
}

TEST(Mask, GroupsWorkApart) {
  // Each group of eight lanes sums as often as its number says.
  const std::vector<int> sums = OfEachLane(+[](int* p) {
    const int group = Lane() / 8;
    const unsigned mask = 0xffu << group * 8;
    int sum = 1;
    for (int round = 0; round <= group; ++round)
      for (int flip = 4; flip > 0; flip /= 2) sum += __shfl_xor_sync(mask, sum, flip, 8);
    p[Lane()] = sum;
  });
  ExpectLanes(sums, [](int l) { return 1 << 3 * (l / 8 + 1); });
}

TEST(Mask, LanesThatEndedAreNotWaitedFor) {
  const std::vector<int> got = OfEachLane(+[](int* p) {
    if (Lane() >= 20) return;
    p[Lane()] = __ballot_sync(kAll, 1) == (1u << 20) - 1;
  });
  ExpectLanes(got, [](int l) { return l < 20 ? 1 : 0; });
}

void ExpectRefused(void (*kernel)(), const char* why) {
  Start(Grid(1, 32), kernel);
  EXPECT_THAT([] { cudaDeviceSynchronize(); }, ThrowsMessage<std::logic_error>(HasSubstr(why)));
}

TEST(Mask, ThatLeavesTheCallerOutIsAnError) {
  ExpectRefused(
      +[] { __shfl_sync(Lane() == 9 ? 1u : kAll, 1, 0); },
      "thread 9: calls with a mask that leaves it out");
}

TEST(Mask, ThatDiffersBetweenLanesIsAnError) {
  ExpectRefused(
      +[] { __syncwarp(Lane() == 9 ? 0xffffu : kAll); }, "with different masks");
}

TEST(Mask, OfLanesThatAreElsewhereIsAnError) {
  ExpectRefused(
      +[] {
        if (Lane() == 3)
          __syncthreads();
        else
          __syncwarp();
      },
      "waits at a barrier that not all live threads reach");
}

TEST(Mask, OfLanesInDifferentCallsIsAnError) {
  ExpectRefused(
      +[] {
        if (Lane() < 16)
          __shfl_sync(kAll, 1, 0);
        else
          __ballot_sync(kAll, 1);
      },
      "meet in different calls");
}

// Hardware returns any value; the emulator's can be recognised.
TEST(Mask, AShuffleFromALaneOutsideGivesNonsense) {
  EXPECT_THAT(OfEachLane(+[](unsigned* p) {
                if (Lane() < 16) {
                  p[Lane()] = __shfl_sync(0xffffu, 1u, 20);
                } else {
                  p[Lane()] = 0xcdcdcdcd;
                }
              }),
              Each(0xcdcdcdcdu));
}

}  // namespace
}  // namespace tessera::testing
