#include "bench/harness/in_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/harness/passes.h"
#include "runtime/base/check.h"
#include "tests/bench/harness/run_for_tests.h"

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two programs whose case "noisy" changes from pass to pass, and "quiet" does not; and a log of
// what was asked of them.
struct Programs {
  std::vector<std::string> log;
  std::string new_name = "noisy";  // of that case in the new program
  double noise = 0.5;
  bool refuses_some = false;

  std::optional<BenchRun> Pass(size_t side, int pass, const std::optional<CaseNames>& cases) {
    std::string text = Format("{}{}", side, pass);
    if (cases)
      for (const std::string& name : *cases) text += " " + name;
    log.push_back(text);
    if (refuses_some && cases) throw Error("--examples 7: no case uses it");
    const double seconds = 1 + noise * pass;  // which no number of passes makes precise
    std::vector<Measurement> rows = {
        MadeUpRow(side == 0 ? "noisy" : new_name, "tessera", {seconds, seconds}, {1, 1}),
        MadeUpRow("quiet", "tessera", {2})};
    rows[0].values = rows[1].values = {{"dim", "16"}};
    rows[1].values = {{"dim", "32"}};
    std::erase_if(rows, [&](const auto& row) { return cases && !cases->contains(row.case_name); });
    return MadeUpRun(rows);
  }
  PassOf AsPassOf() {
    return [this](size_t side, int pass, const std::optional<CaseNames>& cases) {
      return Pass(side, pass, cases);
    };
  }
};

TEST(InTurnTest, TheOrderTurnsRoundAndPassesBecomeOneRun) {
  Programs programs;
  std::vector<BenchRun> runs(2);
  RunInTurn(3, 0, programs.AsPassOf(), runs);
  EXPECT_THAT(programs.log, ElementsAre("00", "10", "11", "01", "02", "12"));
  for (const BenchRun& run : runs) {
    EXPECT_EQ(run.rounds, 9) << "those of all passes";
    ASSERT_EQ(run.rows.size(), 2u);
    EXPECT_THAT(run.rows[0].seconds, ElementsAre(1, 1, 1.5, 1.5, 2, 2));
    EXPECT_EQ(run.rows[0].limit_seconds.size(), 6u);
    EXPECT_THAT(run.rows[0].pass_rounds, ElementsAre(2, 2, 2));
    EXPECT_EQ(run.rows[1].Passes(), 3u);
  }
}

TEST(InTurnTest, GoesOnWithCasesThatAreNotKnownWellEnoughUnderTheNamesOfEachProgram) {
  Programs programs;
  programs.new_name = "loud";
  std::vector<BenchRun> runs(2);
  RunInTurn(5, 0.05, programs.AsPassOf(), runs);
  ASSERT_EQ(programs.log.size(), 2 * kMaxPasses);
  EXPECT_EQ(programs.log[9], "14");
  EXPECT_EQ(programs.log[10], "15 loud");
  EXPECT_EQ(programs.log[11], "05 noisy");
  EXPECT_EQ(runs[0].rows[0].Passes(), kMaxPasses);
  EXPECT_EQ(runs[1].rows[1].Passes(), 5u);
  EXPECT_THAT(ImpreciseText(runs[0].rows[0], 0.05),
              HasSubstr("tessera: after 100 passes a change is found from "));
  EXPECT_EQ(ImpreciseText(runs[0].rows[1], 0.05), "");
}

TEST(InTurnTest, TakesAllCasesWhereSomeAloneAreRefused) {
  Programs programs;
  programs.refuses_some = true;
  std::vector<BenchRun> runs(2);
  RunInTurn(5, 0.05, programs.AsPassOf(), runs);
  EXPECT_EQ(programs.log[10], "15 noisy");
  EXPECT_EQ(programs.log[11], "15");
  EXPECT_EQ(programs.log[12], "05");
  EXPECT_EQ(runs[1].rows[1].Passes(), kMaxPasses);
}

TEST(InTurnTest, KeepsWholeTurnsWhereItEnds) {
  Programs programs;
  std::vector<BenchRun> runs(2);
  const PassOf stops = [&](size_t side, int pass, const std::optional<CaseNames>& cases) {
    return pass == 2 && side == 1 ? std::nullopt : programs.Pass(side, pass, cases);
  };
  RunInTurn(5, 0, stops, runs);
  EXPECT_EQ(runs[0].rows[0].Passes(), 2u);
  EXPECT_EQ(runs[1].rows[0].Passes(), 2u);
  const PassOf fails = [&](size_t side, int pass, const std::optional<CaseNames>& cases) {
    if (pass == 1) throw Error("no such row");
    return programs.Pass(side, pass, cases);
  };
  std::vector<BenchRun> failed(2);
  EXPECT_THROW(RunInTurn(5, 0, fails, failed), Error);
  EXPECT_EQ(failed[1].rows[0].Passes(), 1u);
}

TEST(InTurnTest, PassesWithAndWithoutALimitAreNotJoined) {
  std::vector<BenchRun> runs(2);
  const PassOf odd = [&](size_t, int pass, const std::optional<CaseNames>&) {
    return MadeUpRun({MadeUpRow("a", "tessera", {1}, std::vector<double>(pass == 0 ? 1 : 0, 1))});
  };
  EXPECT_THROW(RunInTurn(5, 0, odd, runs), Error);
}

// Verdicts of drawn programs are right after passes in turn.
TEST(InTurnTest, FindsFivePercentAndNothingWhereNothingChanged) {
  std::mt19937 draws(7);
  constexpr int kPairs = 200;
  for (const double shared : {0.005, 0.02, 0.04}) {
    int same = 0, slower = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
      for (const double added : {0.0, 0.05}) {
        const PassOf pass_of = [&](size_t side, int, const std::optional<CaseNames>&) {
          const double seconds = 1 + (side == 1 ? added : 0);
          return MadeUpRun({RowOfPasses("a", DrawnPasses(seconds, shared, 1, draws))});
        };
        std::vector<BenchRun> runs(2);
        RunInTurn(5, 0.05, pass_of, runs);
        const Verdict verdict = CompareRuns(runs[0], runs[1]).rows.at(0).verdict;
        if (added == 0) same += verdict == Verdict::kSame;
        if (added > 0) slower += verdict == Verdict::kSlower;
      }
    }
    EXPECT_GE(same, 0.98 * kPairs) << shared;
    EXPECT_GE(slower, 0.95 * kPairs) << shared;
  }
}

TEST(PassesTest, ShareTheRounds) {
  int all = 0;
  for (int pass = 0; pass < 4; ++pass) all += RoundsOfPass(15, 4, pass);
  EXPECT_EQ(all, 15);
  EXPECT_EQ(RoundsOfPass(15, 4, 9), 3);
}

}  // namespace
}  // namespace tessera::bench
