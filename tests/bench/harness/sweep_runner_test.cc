#include "bench/harness/sweep_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/harness/sweep.h"
#include "runtime/base/check.h"
#include "tests/bench/harness/fake_topic.h"

namespace tessera::bench {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(RunPointsTest, ChecksOnceThenContendersTakeTurns) {
  Fake fake;
  fake.Run({.rounds = 2});
  EXPECT_THAT(fake.log, ElementsAre("check", "before0", "a0", "b0", "limit0",  // once for pages
                                    "before0", "a0", "b0", "limit0",           //
                                    "limit1", "b1", "before1", "a1"));
}

TEST(RunPointsTest, LeavesOutWrongContendersAndSaysSoAtTheEnd) {
  Fake fake;
  std::vector<std::string> notes, contenders;
  std::map<std::string, int> checks;
  const auto add = [&](Work& work, const std::string& name, int wrong_from) {
    work.contenders.push_back(fake.Noting(name));
    work.contenders.back().check = [&, name, wrong_from] {
      if (++checks[name] >= wrong_from) throw Error(name + " has other bits");
    };
  };
  fake.topic.make = [&](Context& ctx, const Point& point) {
    Work work = fake.Make(ctx, point);
    add(work, "never", 99);
    add(work, "first", 1);
    add(work, "second", 2);
    return work;
  };
  SweepOptions options = {.rounds = 4, .passes = 2, .flush_bytes = kSmallFlush};
  options.note = [&](const std::string&, const std::string& note) { notes.push_back(note); };
  options.rows = [&](const std::vector<Measurement>& rows) {
    for (const Measurement& row : rows) {
      contenders.push_back(row.contender);
      EXPECT_EQ(row.seconds.size(), 4u) << row.contender;
    }
  };
  EXPECT_THAT(
      [&] {
        RunPoints(fake.topic, PointsOf(fake.topic, "", {{"threads", {"1"}}}), options);
      },
      ThrowsMessage<Error>("contenders that are wrong were left out:\n"
                           "fake/default/1t: first has other bits\nsecond has other bits"));
  EXPECT_THAT(contenders, ElementsAre("a", "b", "never"));
  EXPECT_THAT(notes, ElementsAre("first is wrong and is left out; the error at the end says why"));
  EXPECT_EQ(checks["first"], 1) << "it was left out of the second pass, too";
}

TEST(RunPointsTest, LeavesOutWhoIsWrongOnceItWasTimed) {
  Fake fake;
  fake.topic.make = [&](Context& ctx, const Point& point) {
    Work work = fake.Make(ctx, point);
    work.contenders.push_back(fake.Noting("lazy"));
    work.contenders.back().check_after = [] { throw Error("lazy did nothing"); };
    return work;
  };
  std::vector<std::string> contenders;
  SweepOptions options = {.rounds = 2, .flush_bytes = kSmallFlush};
  options.rows = [&](const std::vector<Measurement>& rows) {
    for (const Measurement& row : rows) contenders.push_back(row.contender);
  };
  EXPECT_THAT(
      [&] {
        RunPoints(fake.topic, PointsOf(fake.topic, "", {{"threads", {"1"}}}), options);
      },
      ThrowsMessage<Error>(HasSubstr("fake/default/1t: lazy did nothing")));
  EXPECT_THAT(contenders, ElementsAre("a", "b"));
}

// A point whose every third pass takes far longer; no two take the same time, as they may by a
// coarse clock.
TEST(RunPointsTest, GoesOnUntilChangesAreFoundOrPassesAreMany) {
  Fake fake;
  std::vector<size_t> passes;
  std::vector<std::string> notes;
  int made = 0;
  fake.topic.make = [&](Context&, const Point& point) {
    const bool uneven = point.Text("dim") == "1";
    if (uneven) ++made;
    const int64_t calls = !uneven ? 10'000 : made % 3 == 0 ? 500'000 : 10'000 + 500 * made;
    Work work;
    work.contenders = {{"a", [calls](int) {
                          volatile int64_t steps = calls;
                          while (steps > 0) steps = steps - 1;
                        }}};
    return work;
  };
  const auto run = [&](double precision) {
    passes.clear();
    notes.clear();
    made = 0;
    SweepOptions options = {
        .rounds = 10, .passes = 2, .precision = precision, .flush_bytes = kSmallFlush};
    options.rows = [&](const auto& rows) {
      passes.push_back(rows[0].Passes());
      EXPECT_EQ(rows[0].seconds.size(), 5 * rows[0].Passes());
    };
    options.note = [&](const std::string&, const std::string& note) { notes.push_back(note); };
    const AxisValues flags = {{"dim", {"1", "2"}}, {"threads", {"1"}}, {"caches", {"cold"}}};
    RunPoints(fake.topic, PointsOf(fake.topic, "", flags), options);
  };
  run(0);
  EXPECT_THAT(passes, ElementsAre(2, 2));
  run(1e9);
  EXPECT_THAT(passes, ElementsAre(5, 5)) << "fewer decide nothing";
  run(1e-9);  // equal samples, as a coarse clock gives, may tell the second point's any change
  EXPECT_EQ(passes[0], 100);
  ASSERT_FALSE(notes.empty());
  EXPECT_THAT(notes, Each(HasSubstr("a: after 100 passes a change is found from ")));
  run(10);
  EXPECT_GT(passes[0], 5);
  EXPECT_TRUE(notes.empty()) << notes[0];
}

TEST(RunPointsTest, TimesNothingWhereOursOrAllOthersAreWrong) {
  for (const size_t wrong : {size_t{0}, size_t{1}}) {
    Fake fake;
    fake.topic.make = [&](Context& ctx, const Point& point) {
      Work work = fake.Make(ctx, point);
      work.contenders[wrong].check = [] { throw Error("other bits"); };
      return work;
    };
    EXPECT_EQ(fake.ErrorOf({.rounds = 2}), "fake/default/1t: other bits");
    EXPECT_THAT(fake.log, ElementsAre("check"));
  }
}

TEST(RunPointsTest, GivesARowAContender) {
  Fake fake;
  const std::vector<Measurement> rows = fake.Run({.rounds = 3}, {{"threads", {"2"}}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(fake.threads, 2);
  EXPECT_EQ(rows[0].contender, "a");
  EXPECT_EQ(rows[1].contender, "b");
  for (const Measurement& row : rows) {
    EXPECT_EQ(row.Name(), "fake/default/2t");
    EXPECT_EQ(row.seconds.size(), 3u);
    EXPECT_EQ(row.limit_seconds.size(), 3u);
    EXPECT_GT(row.Median(), 0);
    EXPECT_GT(row.Share(), 0);
    EXPECT_EQ(row.bytes, 100);
    EXPECT_EQ(row.items, 7);
    EXPECT_EQ(row.item, "rows");
    EXPECT_TRUE(row.cold);
    EXPECT_EQ(row.facts[0].first, "known");
    EXPECT_EQ(row.values[0], std::pair(std::string("dim"), std::string("16")));
  }
}

TEST(RunPointsTest, FactsThatAreKnownAfterwardsAreOfOursAlone) {
  Fake fake;
  const std::vector<Measurement> rows = fake.Run({.rounds = 3});
  ASSERT_EQ(rows[0].facts.size(), 2u);
  EXPECT_EQ(rows[0].facts[1].first, "calls");
  EXPECT_EQ(rows[1].facts.size(), 1u);
}

TEST(RunPointsTest, RunsEveryPoint) {
  Fake fake;
  const auto rows = fake.Run({.rounds = 1}, {{"dim", {"1", "2", "3"}}, {"threads", {"1"}}});
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[4].Name(), "fake/dim=3/1t");
}

TEST(RunPointsTest, ShortWarmCallsAreTimedTogether) {
  Fake fake;
  fake.warm = true;
  const auto calls = [&](char name) {
    return std::count_if(fake.log.begin(), fake.log.end(),
                         [&](const std::string& entry) { return entry[0] == name; });
  };
  do {  // again where another program came between the first calls, which then took long
    fake.log.clear();
    const std::vector<Measurement> rows = fake.Run({.rounds = 2}, {{"threads", {"1"}}});
    EXPECT_FALSE(rows[0].cold);
    EXPECT_EQ(calls('a'), 3) << "something is to be done before each call";
  } while (calls('b') <= 10);
}

TEST(RunPointsTest, TimesColdAndWarmInOneRun) {
  Fake fake;
  const AxisValues flags = {{"threads", {"1"}}, {"caches", {"cold", "warm"}}};
  for (const bool few_ids : {false, true}) {
    fake.warm = few_ids;
    const std::vector<Measurement> rows = fake.Run({.rounds = 1}, flags);
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_TRUE(rows[0].cold && rows[1].cold) << "also of few ids, where cold caches are asked for";
    EXPECT_FALSE(rows[2].cold || rows[3].cold);
    EXPECT_EQ(rows[3].Name(), "fake/caches=warm/1t");
    EXPECT_EQ(rows[0].CaseWithoutCaches(), "default");
    BenchRun run;
    run.rows = rows;
    EXPECT_EQ(run.CachesText(), "cold and warm");
    run.rows.resize(2);
    EXPECT_EQ(run.CachesText(), "cold");
  }
}

TEST(RunPointsTest, WithoutALimitThereIsNoShare) {
  Fake fake;
  fake.topic.make = [&](Context&, const Point&) {
    Work work;
    work.contenders = {fake.Noting("a")};
    return work;
  };
  const std::vector<Measurement> rows = fake.Run({.rounds = 1});
  EXPECT_FALSE(rows[0].HasLimit());
  EXPECT_EQ(rows[0].Share(), 0);
}

TEST(RunPointsTest, DetailsAreAskedForWhereTheyAreWanted) {
  Fake fake;
  std::vector<bool> asked;
  fake.topic.make = [&](Context&, const Point&) {
    Work work;
    work.contenders = {fake.Noting("a")};
    work.details = [&](bool cold) {
      asked.push_back(cold);
      return std::vector<std::pair<std::string, double>>{{"l1_hit_share", 0.5}};
    };
    return work;
  };
  EXPECT_TRUE(fake.Run({.rounds = 1})[0].facts.empty());
  const auto rows = fake.Run({.rounds = 1, .details = true}, {{"caches", {"cold", "warm"}}});
  EXPECT_EQ(rows[0].facts[0].first, "l1_hit_share");
  EXPECT_THAT(asked, ElementsAre(true, false));
}

TEST(RunPointsTest, PassesShareTheRounds) {
  Fake fake;
  const auto rows = fake.Run({.rounds = 5, .passes = 2}, {{"dim", {"1", "2"}}, {"threads", {"1"}}});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].Name(), "fake/dim=1/1t");
  EXPECT_EQ(rows[2].Name(), "fake/dim=2/1t");
  for (const Measurement& row : rows) {
    EXPECT_EQ(row.seconds.size(), 5u);
    EXPECT_EQ(row.limit_seconds.size(), 5u);
  }
  EXPECT_EQ(std::count(fake.log.begin(), fake.log.end(), "check"), 4) << "each time anew";
  EXPECT_EQ(fake.Run({.rounds = 1, .passes = 3}, {{"threads", {"1"}}}).at(0).seconds.size(), 1u);
}

TEST(RunPointsTest, AValueThatTheCaseDoesNotUseIsRefused) {
  Fake fake;
  fake.topic.axes.push_back({"codec", {"int8"}, "how rows are stored"});
  EXPECT_EQ(fake.Run({.rounds = 1}, {{"codec", {"int8"}}}).size(), 2u);
  try {
    fake.Run({.rounds = 1}, {{"codec", {"int4"}}, {"threads", {"1"}}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("fake/codec=int4/1t: --codec int4: no case uses it; leave it out "
                          "here (how rows are stored)"));
  }
}

TEST(RunPointsTest, ErrorsNameThePoint) {
  Fake fake;
  fake.check = [] { throw Error("output 3 is wrong"); };
  EXPECT_THAT(fake.ErrorOf({.rounds = 2}), HasSubstr("fake/default/1t: output 3 is wrong"));
  EXPECT_TRUE(fake.log.empty());
}

TEST(RunPointsTest, AContenderMayFailInALaterRound) {
  Fake fake;
  fake.fail_in_round = 1;
  EXPECT_THAT(fake.ErrorOf({.rounds = 3}), HasSubstr("fake/default/1t: no such row"));
  fake.fail_in_round = -1;
  EXPECT_EQ(fake.Run({.rounds = 3}, {{"threads", {"1"}}}).size(), 2u) << "and then work again";
}

TEST(RunPointsTest, StopsBetweenRounds) {
  Fake fake;
  int asked = 0;
  const SweepOptions options = {.rounds = 100, .stop = [&] { return ++asked > 4; }};
  EXPECT_TRUE(fake.Run(options).empty());
  EXPECT_LT(fake.log.size(), 20u);
}

TEST(RunPointsTest, TellsHowFarItIs) {
  Fake fake;
  std::vector<double> fractions;
  const auto note = [&](const std::string& what, double fraction) {
    EXPECT_THAT(what, HasSubstr("fake/dim="));
    fractions.push_back(fraction);
  };
  fake.Run({.rounds = 2, .progress = note}, {{"dim", {"1", "2"}}, {"threads", {"1"}}});
  EXPECT_THAT(fractions, ElementsAre(0, 0, 0.25, 0.5, 0.5, 0.75));
}

}  // namespace
}  // namespace tessera::bench
