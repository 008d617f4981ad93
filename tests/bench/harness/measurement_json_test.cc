#include "bench/files/measurement_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "tests/bench/harness/run_for_tests.h"

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(const std::string& text) {
  try {
    RunFromJson(text, "old.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string WithRow(const std::string& fields) {
  return R"({"topic": "lookup", "rows": [{"case": "D16", "contender": "tessera", )" + fields +
         "}]}";
}

BenchRun WholeRun() {
  Measurement row =
      MadeUpRow("D128_zipf1.05", "tessera", {0.25, 0.5, 0.125}, {0.125, 0.25, 0.0625});
  row.threads = 2;
  row.bytes = 1e9;
  row.items = 20;
  row.item = "examples";
  row.values = {{"dim", "128"}, {"skew", "zipf:1.05"}};
  row.facts = {{"distinct", 12.5}};
  row.pass_rounds = {1, 2};
  Measurement warm = MadeUpRow("call", "a \"plain\" loop", {1e-6});
  warm.cold = false;
  return MadeUpRun({row, warm});
}

TEST(MeasurementJsonTest, ReadsBackWhatItWrites) {
  const BenchRun run = WholeRun();
  const BenchRun back = RunFromJson(RunToJson(run), "x.json");
  EXPECT_EQ(back.machine, run.machine);
  EXPECT_EQ(back.date, run.date);
  EXPECT_EQ(back.topic, run.topic);
  EXPECT_EQ(back.rounds, run.rounds);
  ASSERT_EQ(back.rows.size(), run.rows.size());
  for (size_t i = 0; i < run.rows.size(); ++i) {
    const Measurement &a = run.rows[i], &b = back.rows[i];
    EXPECT_EQ(a.Name(), b.Name());
    EXPECT_EQ(a.contender, b.contender);
    EXPECT_EQ(a.values, b.values);
    EXPECT_EQ(a.facts, b.facts);
    EXPECT_EQ(a.seconds, b.seconds);
    EXPECT_EQ(a.limit_seconds, b.limit_seconds);
    EXPECT_EQ(a.pass_rounds, b.pass_rounds);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.items, b.items);
    EXPECT_EQ(a.item, b.item);
    EXPECT_EQ(a.cold, b.cold);
  }
  EXPECT_EQ(RunToJson(back), RunToJson(run));
}

TEST(MeasurementJsonTest, SaysOfTheRunWhatItsRowsAgreeOn) {
  BenchRun run = WholeRun();
  EXPECT_THAT(RunToJson(run), Not(HasSubstr(R"("rounds":3,"cold")")));
  EXPECT_THAT(RunToJson(run), HasSubstr(R"(},"cold":true})"));
  for (Measurement& row : run.rows) row.cold = false;
  EXPECT_THAT(RunToJson(run), HasSubstr(R"("rounds":3,"cold":false,)"));
  EXPECT_THAT(RunToJson(run), Not(HasSubstr("},\"cold\"")));
  EXPECT_FALSE(RunFromJson(RunToJson(run), "x.json").rows[0].cold);
}

TEST(MeasurementJsonTest, KeepsWhatTheRunDependsOn) {
  BenchRun run = WholeRun();
  run.context = {{"time", "2026-11-25T02:00:00Z"}, {"command", "tessera bench \"x\""}};
  const BenchRun back = RunFromJson(RunToJson(run), "x.json");
  EXPECT_EQ(back.context, run.context);
}

TEST(MeasurementJsonTest, TellsOtherProgramsWhatFollowsFromSamples) {
  const std::string json = RunToJson(WholeRun());
  for (const char* field :
       {R"("name":"lookup/D128_zipf1.05/2t")", R"("seconds":0.25)", R"("limit_seconds":0.125)",
        R"("share":0.5)", R"("gbps":4.0)", R"("items_per_second":80.0)", R"("cold":false)"})
    EXPECT_THAT(json, HasSubstr(field));
}

TEST(MeasurementJsonTest, TakesOneLimitForAllRounds) {
  const BenchRun run =
      RunFromJson(WithRow(R"("samples": [2, 4, 8], "limit_seconds": 1)"), "x.json");
  EXPECT_EQ(run.rows[0].limit_seconds, (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(run.rows[0].Share(), 0.25);
  EXPECT_EQ(run.rows[0].threads, 1);
}

TEST(MeasurementJsonTest, FilesThatNameNoPassesHaveOne) {
  const BenchRun run = RunFromJson(WithRow(R"("samples": [2, 4, 8])"), "x.json");
  EXPECT_EQ(run.rows[0].Passes(), 1u);
  EXPECT_THAT(RunToJson(run), Not(HasSubstr("passes"))) << "older programs read it, too";
}

TEST(MeasurementJsonTest, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("old.json: "));
  EXPECT_THAT(ErrorOf(R"({"rows": []})"), HasSubstr("topic: the key is missing"));
  EXPECT_THAT(ErrorOf(R"({"topic": "lookup", "rows": 3})"), HasSubstr("rows: expected a list"));
  EXPECT_THAT(ErrorOf(WithRow(R"("threads": 1)")),
              HasSubstr("rows[0].samples: the key is missing"));
  EXPECT_THAT(ErrorOf(WithRow(R"("samples": [])")), HasSubstr("rows[0].samples: there are none"));
  EXPECT_THAT(ErrorOf(WithRow(R"("samples": [1, 0])")),
              HasSubstr("rows[0].samples[1]: expected seconds above 0, got 0"));
  EXPECT_THAT(ErrorOf(WithRow(R"("samples": [1, 2], "limit_samples": [1])")),
              HasSubstr("expected 2 seconds, one for each sample, got 1"));
  EXPECT_THAT(ErrorOf(WithRow(R"("samples": [1, 2, 3], "passes": [1, 1])")),
              HasSubstr("rows[0].passes: expected 3 rounds in all, one for each sample, got 2"));
  EXPECT_THAT(ErrorOf(WithRow(R"("samples": [1, 2, 3], "passes": [4, -1])")),
              HasSubstr("rows[0].passes: expected numbers of rounds from 1 to 3, got 4"));
  EXPECT_THAT(ErrorOf(WithRow(R"("samples": [1], "facts": {"a": "b"})")),
              HasSubstr("rows[0].facts.a: expected a number"));
  EXPECT_THAT(ErrorOf(WithRow(R"("samples": [1], "speed": 3)")),
              HasSubstr("rows[0].speed: unknown key"));
}

}  // namespace
}  // namespace tessera::bench
