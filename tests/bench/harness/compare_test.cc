#include "bench/harness/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/base/check.h"
#include "tests/bench/harness/run_for_tests.h"

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Nine samples about `middle`, a percent apart in all.
std::vector<double> About(double middle) {
  std::vector<double> samples;
  for (int i = -4; i <= 4; ++i) samples.push_back(middle * (1 + 0.00125 * i));
  return samples;
}

bool IsChange(Verdict verdict) {
  return verdict == Verdict::kFaster || verdict == Verdict::kSlower;
}

RowChange ChangeOf(const Measurement& before, const Measurement& now) {
  const RunComparison comparison = CompareRuns(MadeUpRun({before}), MadeUpRun({now}));
  return comparison.rows.at(0);
}

TEST(CompareTest, ComparesTimesWhereNoLimitIsKnown) {
  const RowChange faster =
      ChangeOf(MadeUpRow("a", "tessera", About(2)), MadeUpRow("a", "tessera", About(1)));
  EXPECT_EQ(faster.verdict, Verdict::kFaster);
  EXPECT_NEAR(faster.speed, 2, 1e-9);
  EXPECT_LT(faster.p, kSignificance);
  EXPECT_FALSE(faster.ByShare());
  EXPECT_EQ(
      ChangeOf(MadeUpRow("a", "tessera", About(1)), MadeUpRow("a", "tessera", About(2))).verdict,
      Verdict::kSlower);
}

TEST(CompareTest, RowsAreJoinedByTheirCaches) {
  Measurement cold = MadeUpRow("dim=16,caches=cold", "tessera", About(2));
  Measurement warm = MadeUpRow("dim=16,caches=warm", "tessera", About(1));
  warm.cold = false;
  Measurement warm_alone = MadeUpRow("dim=16", "tessera", About(1));
  warm_alone.cold = false;
  const RunComparison comparison = CompareRuns(MadeUpRun({cold, warm}), MadeUpRun({warm_alone}));
  ASSERT_EQ(comparison.rows.size(), 1u);
  EXPECT_EQ(comparison.rows[0].verdict, Verdict::kSame);
  EXPECT_THAT(comparison.only_old, ElementsAre("lookup/dim=16,caches=cold/1t tessera"));
}

TEST(CompareTest, AskingForColdCachesIsTheSameWorkAsFindingThemCold) {
  Measurement asked = MadeUpRow("dim=16,caches=cold", "tessera", About(2));
  asked.values = {{"dim", "16"}, {"caches", "cold"}};
  Measurement found = MadeUpRow("dim=16", "tessera", About(2));
  found.values = {{"dim", "16"}, {"caches", "auto"}};
  EXPECT_EQ(CompareRuns(MadeUpRun({asked}), MadeUpRun({found})).rows.size(), 1u);
}

TEST(CompareTest, NothingInCommonIsSaid) {
  const RunComparison comparison = CompareRuns(MadeUpRun({MadeUpRow("a", "tessera", About(1))}),
                                               MadeUpRun({MadeUpRow("b", "tessera", About(1))}));
  EXPECT_THAT(ComparisonText(comparison), HasSubstr("nothing was compared"));
}

TEST(CompareTest, SmallChangesAreNone) {
  EXPECT_EQ(ChangeOf(MadeUpRow("a", "tessera", About(1)), MadeUpRow("a", "tessera", About(1.015)))
                .verdict,
            Verdict::kSame);
}

TEST(CompareTest, AWideIntervalProvesNothing) {
  const std::vector<double> wide = {0.8, 0.9, 1, 1.1, 1.2, 1.3};
  const RunComparison unclear = CompareRuns(MadeUpRun({MadeUpRow("a", "tessera", wide)}),
                                            MadeUpRun({MadeUpRow("a", "tessera", wide)}));
  EXPECT_EQ(unclear.rows[0].verdict, Verdict::kUnclear);
  EXPECT_THAT(ComparisonText(unclear), HasSubstr("0 faster, 0 slower, 0 the same, 1 unclear ("));
}

TEST(CompareTest, FiveRoundsDecideAndFewerAreSaidToBeTooFew) {
  const auto run = [](std::vector<double> seconds) {
    return MadeUpRun({MadeUpRow("a", "tessera", std::move(seconds))});
  };
  const RunComparison decided = CompareRuns(run({1, 1.1, 1.2, 1.3, 1.4}), run({9, 10, 11, 12, 13}));
  EXPECT_EQ(decided.rows.at(0).verdict, Verdict::kSlower);
  EXPECT_THAT(ComparisonText(decided), Not(HasSubstr("warning")));
  const RunComparison few = CompareRuns(run({1, 1.1, 1.2, 1.3}), run({9, 10, 11, 12}));
  EXPECT_EQ(few.rows.at(0).verdict, Verdict::kTooFewRounds);
  EXPECT_THAT(ComparisonText(few), HasSubstr("warning: 1 of 1 rows have too few rounds to decide"));
}

TEST(CompareTest, SharesDecideWhereTheMachineBecameSlower) {
  const Measurement before = MadeUpRow("a", "tessera", About(2), About(1));
  const RowChange change = ChangeOf(before, MadeUpRow("a", "tessera", About(3), About(1.5)));
  EXPECT_EQ(change.verdict, Verdict::kSame);
  EXPECT_NEAR(change.speed, 1, 1e-9);
  EXPECT_DOUBLE_EQ(change.old_share, 0.5);
  EXPECT_DOUBLE_EQ(change.new_share, 0.5);
}

TEST(CompareTest, SharesOfEachRoundAreWhatIsTested) {
  Measurement before = MadeUpRow("a", "tessera", About(2)),
              now = MadeUpRow("a", "tessera", About(2));
  before.limit_seconds = std::vector<double>(9, 1.0);
  now.limit_seconds = std::vector<double>(9, 1.2);
  EXPECT_EQ(ChangeOf(before, now).verdict, Verdict::kFaster);
}

// A row and the values of its axes.
Measurement RowAt(const std::string& case_name, const std::string& contender,
                  std::vector<std::pair<std::string, std::string>> values) {
  Measurement row = MadeUpRow(case_name, contender, About(1));
  row.values = std::move(values);
  return row;
}

TEST(CompareTest, AnIntervalHoldsTheChangeAndEndsShortOfOneWhereItIsReal) {
  const RowChange faster =
      ChangeOf(MadeUpRow("a", "tessera", About(2)), MadeUpRow("a", "tessera", About(1)));
  EXPECT_LT(1.98, faster.speed_low);
  EXPECT_LT(faster.speed_low, 2);
  EXPECT_LT(2, faster.speed_high);
  const RowChange same =
      ChangeOf(MadeUpRow("a", "tessera", About(1)), MadeUpRow("a", "tessera", About(1)));
  EXPECT_LT(same.speed_low, 1);
  EXPECT_LT(1, same.speed_high);
}

// `rounds` times of mean `seconds` that spread by 8 %, drawn anew with each seed.
Measurement DrawnRow(double seconds, int rounds, unsigned seed) {
  std::mt19937 draws(seed);
  std::lognormal_distribution<double> spread(std::log(seconds), 0.08);
  std::vector<double> samples;
  for (int i = 0; i < rounds; ++i) samples.push_back(spread(draws));
  return MadeUpRow("a", "tessera", std::move(samples));
}

TEST(CompareTest, TheLeastFoundChangeIsFoundInNineteenOfTwentyPairs) {
  for (const int rounds : {15, 60}) {
    int found = 0, invented = 0;
    double mean = 0;
    constexpr int kPairs = 200;
    for (unsigned pair = 0; pair < kPairs; ++pair) {
      const Measurement before = DrawnRow(1, rounds, 3 * pair);
      const double change = LeastFoundChange(DrawnRow(1, rounds, 3 * pair + 1));
      mean += change / kPairs;
      found +=
          ChangeOf(before, DrawnRow(1 + change, rounds, 3 * pair + 2)).verdict == Verdict::kSlower;
      invented += IsChange(ChangeOf(before, DrawnRow(1, rounds, 3 * pair + 2)).verdict);
    }
    EXPECT_NEAR(mean, std::expm1(4.9 * 0.08 * std::sqrt(2.0 / rounds)), 0.15 * mean);
    EXPECT_GE(found, 0.95 * kPairs) << rounds;
    EXPECT_LT(invented, 0.03 * kPairs) << rounds;
  }
  EXPECT_EQ(LeastFoundChange(MadeUpRow("a", "tessera", {1, 1.1, 1.2})),
            std::numeric_limits<double>::infinity());
}

TEST(CompareTest, WhatRoundsOfAPassShareIsNoChange) {
  int invented_by_passes = 0, invented_by_rounds = 0;
  constexpr int kPairs = 400;
  std::mt19937 draws(1);
  for (int pair = 0; pair < kPairs; ++pair) {
    Measurement before = RowOfPasses("a", DrawnPasses(1, 0.05, 5, draws)),
                now = RowOfPasses("a", DrawnPasses(1, 0.05, 5, draws));
    const RowChange by_passes = ChangeOf(before, now);
    EXPECT_TRUE(by_passes.by_passes);
    invented_by_passes += IsChange(by_passes.verdict);
    before.pass_rounds.clear();
    const RowChange by_rounds = ChangeOf(before, now);
    EXPECT_FALSE(by_rounds.by_passes) << "both need passes";
    invented_by_rounds += IsChange(by_rounds.verdict);
  }
  EXPECT_LE(invented_by_passes, 0.02 * kPairs);
  EXPECT_GT(invented_by_rounds, 0.1 * kPairs);
}

TEST(CompareTest, AVerdictOfPassesNeedsFiveInBothRuns) {
  const std::vector<std::vector<double>> slow(5, {2, 2.01, 1.99}), fast(5, {1, 1.01, 0.99});
  const RowChange decided = ChangeOf(RowOfPasses("a", slow), RowOfPasses("a", fast));
  EXPECT_TRUE(decided.by_passes);
  EXPECT_EQ(decided.verdict, Verdict::kFaster);
  EXPECT_NEAR(decided.speed, 2, 1e-9);
  const RowChange by_rounds =
      ChangeOf(RowOfPasses("a", slow), RowOfPasses("a", {fast.begin(), fast.begin() + 4}));
  EXPECT_FALSE(by_rounds.by_passes);
}

TEST(CompareTest, SaysWhatAVerdictRestsOn) {
  const Measurement passes = RowOfPasses("a", {{1}, {1.1}, {1.2}, {1.3}, {1.4}});
  Measurement rounds = MadeUpRow("b", "tessera", passes.seconds);
  const std::string alike = ComparisonText(CompareRuns(MadeUpRun({passes}), MadeUpRun({passes})));
  EXPECT_THAT(alike, HasSubstr("over the medians of passes"));
  EXPECT_THAT(alike, Not(HasSubstr("compared by rounds")));
  const BenchRun mixed = MadeUpRun({passes, rounds});
  EXPECT_THAT(ComparisonText(CompareRuns(mixed, mixed)),
              HasSubstr("1 of 2 rows are compared by rounds, as a run has fewer than 5 passes"));
}

TEST(CompareTest, JoinsRowsOfTheSameWorkWhateverTheyAreCalled) {
  const BenchRun before =
      MadeUpRun({RowAt("variants=plain,dim=64", "plain", {{"variants", "plain"}, {"dim", "64"}}),
                 RowAt("variants=plain,dim=16", "plain", {{"variants", "plain"}, {"dim", "16"}})});
  const BenchRun now = MadeUpRun(
      {RowAt("dim=64", "plain", {{"variants", "all"}, {"dim", "64"}, {"isa", "best"}}),
       RowAt("dim=64", "policies", {{"variants", "all"}, {"dim", "64"}, {"isa", "best"}})});
  const RunComparison comparison = CompareRuns(before, now);
  ASSERT_EQ(comparison.rows.size(), 1u);
  EXPECT_EQ(comparison.rows[0].name, "lookup/dim=64/1t (old: variants=plain,dim=64)");
  EXPECT_THAT(comparison.only_old, ElementsAre("lookup/variants=plain,dim=16/1t plain"));
  EXPECT_THAT(comparison.only_new, ElementsAre("lookup/dim=64/1t policies"));
}

TEST(CompareTest, AnAxisThatOneRunVariesAndTheOtherLacksJoinsEachOfItsRows) {
  const BenchRun one = MadeUpRun({RowAt("default", "tessera", {{"dim", "64"}})});
  const BenchRun two = MadeUpRun({RowAt("pin=no", "tessera", {{"dim", "64"}, {"pin", "no"}}),
                                  RowAt("pin=yes", "tessera", {{"dim", "64"}, {"pin", "yes"}})});
  EXPECT_EQ(CompareRuns(one, two).rows.size(), 2u);
  EXPECT_EQ(CompareRuns(two, one).rows.size(), 2u);
  EXPECT_EQ(CompareRuns(two, two).rows.size(), 2u) << "each with itself alone";
}

TEST(CompareTest, RowsOfOtherValuesAreNotJoinedByTheirName) {
  const RunComparison comparison =
      CompareRuns(MadeUpRun({RowAt("D128", "tessera", {{"rows", "1M"}})}),
                  MadeUpRun({RowAt("D128", "tessera", {{"rows", "500k"}})}));
  EXPECT_TRUE(comparison.rows.empty());
}

TEST(CompareTest, SaysWhatOnlyOneRunHas) {
  Measurement two_threads = MadeUpRow("a", "tessera", {1});
  two_threads.threads = 2;
  const RunComparison comparison = CompareRuns(
      MadeUpRun({MadeUpRow("a", "tessera", {1}), MadeUpRow("b", "tessera", {1})}),
      MadeUpRun({MadeUpRow("a", "tessera", {1}), two_threads, MadeUpRow("a", "plain loop", {1})}));
  EXPECT_EQ(comparison.rows.size(), 1u);
  EXPECT_THAT(comparison.only_old, ElementsAre("lookup/b/1t tessera"));
  EXPECT_THAT(comparison.only_new, ElementsAre("lookup/a/2t tessera", "lookup/a/1t plain loop"));
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("only in the old run: lookup/b/1t tessera\n"));
  EXPECT_THAT(text, HasSubstr("0 faster, 0 slower, 0 the same"));
}

TEST(CompareTest, WarnsOfAnotherMachine) {
  BenchRun before = MadeUpRun({MadeUpRow("a", "tessera", About(1))}), now = before;
  EXPECT_THAT(ComparisonText(CompareRuns(before, now)), Not(HasSubstr("warning")));
  now.machine = "another";
  EXPECT_THAT(ComparisonText(CompareRuns(before, now)),
              HasSubstr("warning: the old run is of another machine: A <fast> machine, 2 cores, "
                        "now another"));
}

TEST(CompareTest, RefusesOtherTopics) {
  BenchRun update = MadeUpRun({});
  update.topic = "update";
  EXPECT_THROW(CompareRuns(MadeUpRun({}), update), Error);
}

}  // namespace
}  // namespace tessera::bench
