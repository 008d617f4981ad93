// Ends of work that shares cores, by hand and beside a simulation in small pieces of time.
#include "planner/simulation/shared_cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tessera {
namespace {

TEST(RunOnCores, OwnCoresKeepNobodyWaiting) {
  std::vector<CoreWork> pieces = {{0, 3}, {1, 1}, {5, 0}};
  RunOnCores(pieces, 3);
  EXPECT_DOUBLE_EQ(pieces[0].end, 3);
  EXPECT_DOUBLE_EQ(pieces[1].end, 2);
  EXPECT_DOUBLE_EQ(pieces[2].end, 5);
}

TEST(RunOnCores, TwoOnOneCoreAdvanceAlike) {
  // Alone until 1, then both at half speed: the second ends when it has got 1, at 3; the first, of
  // which 1 is left, at 4.
  std::vector<CoreWork> pieces = {{0, 3}, {1, 1}};
  RunOnCores(pieces, 1);
  EXPECT_DOUBLE_EQ(pieces[1].end, 3);
  EXPECT_DOUBLE_EQ(pieces[0].end, 4);
}

TEST(RunOnCores, EqualWorkTakesItsSumOverTheCores) {
  std::vector<CoreWork> pieces(6, CoreWork{2, 1.5});
  RunOnCores(pieces, 4);
  for (const CoreWork& piece : pieces) EXPECT_DOUBLE_EQ(piece.end, 2 + 6 * 1.5 / 4);
}

// Advances all pieces in steps of `tick`, as the header says.
std::vector<double> EndsByTicks(std::vector<CoreWork> pieces, double at_once, double tick) {
  std::vector<double> ends(pieces.size(), -1);
  for (int64_t t = 0; std::count(ends.begin(), ends.end(), -1) > 0; ++t) {
    const double now = static_cast<double>(t) * tick;
    std::vector<size_t> running;
    for (size_t i = 0; i < pieces.size(); ++i)
      if (ends[i] < 0 && pieces[i].start <= now) running.push_back(i);
    for (const size_t i : running) {
      pieces[i].seconds -= tick * std::min(1.0, at_once / static_cast<double>(running.size()));
      if (pieces[i].seconds <= 0) ends[i] = now + tick;
    }
  }
  return ends;
}

TEST(RunOnCores, AgreesWithTheSameInSmallSteps) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 50; ++round) {
    std::vector<CoreWork> pieces(1 + random() % 6);
    for (CoreWork& piece : pieces) piece = {uniform(random), uniform(random)};
    const double at_once = 0.5 + 3 * uniform(random);
    const std::vector<double> expected = EndsByTicks(pieces, at_once, 1e-4);
    RunOnCores(pieces, at_once);
    for (size_t i = 0; i < pieces.size(); ++i) EXPECT_NEAR(pieces[i].end, expected[i], 3e-3);
  }
}

}  // namespace
}  // namespace tessera
