// Lookup and update on every type, dim and way of pooling, on ids of a user, and on one instruction
// set with pinned threads: each is checked before it is timed, beside a limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/embedding/lookup_topic.h"
#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"
#include "bench/optim/update_topic.h"
#include "runtime/base/check.h"
#include "runtime/base/isa.h"
#include "runtime/files/files.h"

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<Measurement> RunSmall(const Topic& topic, AxisValues flags, double min_seconds = 0) {
  flags.insert({{"rows", {"500"}}, {"tables", {"2"}}, {"batch", {"64"}}, {"threads", {"1"}}});
  std::vector<Measurement> all;
  RunPoints(topic, PointsOf(topic, "", flags),
            {.rounds = 2,
             .min_seconds = min_seconds,
             .flush_bytes = 1 << 20,
             .rows = [&](const std::vector<Measurement>& rows) {
               all.insert(all.end(), rows.begin(), rows.end());
             }});
  return all;
}

TEST(TableTopics, EveryTypeAndDimHasALimit) {
  const std::vector<std::string> types = {"f32", "f16", "bf16"}, dims = {"16", "48", "100"};
  const auto expect_limits = [](const Topic& topic, const AxisValues& flags) {
    for (const Measurement& row : RunSmall(topic, flags))
      EXPECT_TRUE(row.HasLimit()) << row.case_name;
  };
  expect_limits(LookupTopic(), {{"row-type", types}, {"output-type", types}, {"dim", {"100"}}});
  expect_limits(LookupTopic(), {{"row-type", {"bf16"}},
                                {"output-type", {"f16"}},
                                {"dim", dims},
                                {"mode", {"sum", "mean", "none"}}});
  expect_limits(UpdateTopic(), {{"row-type", {"f32", "bf16"}},
                                {"state-type", {"f16"}},
                                {"dim", {"48"}},
                                {"rule", {"rowwise_adagrad", "adam"}}});
  expect_limits(UpdateTopic(), {{"row-type", {"bf16"}},
                                {"state-type", {"f16"}},
                                {"dim", {"48", "100"}},
                                {"mode", {"sum", "none"}},
                                {"rule", {"adam"}}});
}

TEST(TableTopics, ModulesTakeTypes) {
  EXPECT_EQ(RunSmall(LookupTopic(),
                     {{"api", {"module"}}, {"row-type", {"f16"}}, {"output-type", {"bf16"}}})
                .size(),
            2u);
}

TEST(TableTopics, BytesAreCountedByTheTypes) {
  const auto rows = RunSmall(LookupTopic(), {{"row-type", {"f32", "f16"}}, {"dim", {"32"}}});
  const double ids = 2 * 64 * 20, outputs = 2 * 64;
  EXPECT_EQ(rows[0].bytes, ids * (32 * 4 + 8) + outputs * 32 * 4);
  EXPECT_EQ(rows[1].bytes, ids * (32 * 2 + 8) + outputs * 32 * 4);
}

TEST(TableTopics, TheTypeOfStatesIsOfRulesThatHaveSome) {
  const auto check = [](const std::vector<std::string>& rules) {
    CheckPoints(UpdateTopic(),
                PointsOf(UpdateTopic(), "",
                         {{"rule", rules}, {"state-type", {"f16"}}, {"threads", {"1"}}}));
  };
  check({"sgd", "adam"});
  EXPECT_THAT([&] { check({"sgd"}); },
              ThrowsMessage<Error>(HasSubstr("update/rule=sgd,state-type=f16/1t: --state-type f16: "
                                             "no case uses it")));
}

TEST(TableTopics, TakeTheSeedTheInstructionSetAndPinnedThreads) {
  const IsaLevel before = ChosenIsa();
  EXPECT_EQ(RunSmall(LookupTopic(), {{"seed", {"1", "2"}}, {"isa", {"baseline"}}, {"pin", {"yes"}}})
                .size(),
            2u);
  EXPECT_EQ(ChosenIsa(), before);
  EXPECT_THAT(
      [] {
        RunSmall(LookupTopic(), {{"pin", {"yes"}}, {"threads", {"4000"}}});
      },
      ThrowsMessage<Error>(HasSubstr("--pin yes with --threads 4000")));
  const AxisValues sweep = {{"pin", {"yes"}}, {"threads", {"1", "4000"}}};
  EXPECT_THAT([&] { CheckPoints(LookupTopic(), PointsOf(LookupTopic(), "", sweep)); },
              ThrowsMessage<Error>(HasSubstr("--pin yes with --threads 4000")));
}

TEST(TableTopics, RoundsGoOnForAsLongAsAskedFor) {
  const auto rows = RunSmall(LookupTopic(), {}, 0.02);
  double seconds = 0;
  for (const double sample : rows[0].seconds) seconds += sample;
  EXPECT_GE(seconds, 0.02);
  EXPECT_EQ(rows[0].seconds.size(), rows[0].limit_seconds.size());
}

TEST(TableTopics, TakeTablesOfAUser) {
  const std::string path = ::testing::TempDir() + "/tables.csv";
  ReplaceTextFile(path, "dim,rows,pooling,skew\n64,1k,3,zipf:1.05\n16,40,range:1-1,\n128,70,,\n");
  for (const Topic* topic : {&LookupTopic(), &UpdateTopic()}) {
    const auto rows = RunSmall(*topic, {{"tables", {path}}, {"rows", {"1M"}}, {"pooling", {"2"}}});
    EXPECT_EQ(rows.at(0).items, 64 * (3 + 1 + 2));
    EXPECT_TRUE(rows.at(0).HasLimit());
  }
  EXPECT_EQ(
      RunSmall(LookupTopic(), {{"tables", {path}}, {"rows", {"1M"}}, {"api", {"module"}}}).size(),
      2u);
  const auto refused = [&](AxisValues flags, const char* saying) {
    flags.insert({{"tables", {path}}, {"rows", {"1M"}}});
    EXPECT_THAT([&] { RunSmall(LookupTopic(), flags); }, ThrowsMessage<Error>(HasSubstr(saying)));
  };
  refused({{"dim", {"32"}}}, "--dim 32: no case uses it");
  refused({{"rows", {"5"}}}, "--rows 5: no case uses it");
  const std::string ids = ::testing::TempDir() + "/few.txt";
  ReplaceTextFile(ids, "1 2 3\n");
  refused({{"ids", {"text:" + ids}}}, "has a skew, and --ids text:");
}

TEST(TableTopics, CriteosTablesAreAsManyAsItHas) {
  EXPECT_THAT(
      [] {
        RunSmall(LookupTopic(), {{"rows", {"criteo:50"}}});
      },
      ThrowsMessage<Error>(HasSubstr("--tables 2 with --rows criteo:50: Criteo has 26")));
}

TEST(TableTopics, TakeIdsOfAUserOrSayWhyNot) {
  const std::string path = ::testing::TempDir() + "/ids.txt";
  std::string text;
  for (int bag = 0; bag < 100; ++bag) text += Format("{} {} {}\n", bag, 7 * bag, 900);
  ReplaceTextFile(path, text);
  const std::string lines = "lines:" + path;
  for (const Topic* topic : {&LookupTopic(), &UpdateTopic()}) {
    EXPECT_EQ(RunSmall(*topic, {{"ids", {lines}}, {"rows", {"1k"}}}).at(0).items, 2 * 64 * 3);
    EXPECT_EQ(RunSmall(*topic, {{"ids", {lines}}, {"remap", {"dense", "hash"}}}).size(), 2u);
    EXPECT_THAT(
        [&] {
          RunSmall(*topic, {{"ids", {lines}}});
        },
        ThrowsMessage<Error>(HasSubstr("id 900 (place 2) is no row")));
    EXPECT_THAT(
        [&] {
          RunSmall(*topic, {{"ids", {lines}}, {"skew", {"zipf:1"}}});
        },
        ThrowsMessage<Error>(HasSubstr("--skew zipf:1 with --ids lines:")));
    EXPECT_THAT(
        [&] {
          RunSmall(*topic, {{"ids", {lines}}, {"pooling", {"3"}}});
        },
        ThrowsMessage<Error>(HasSubstr("--pooling 3 with --ids lines:")));
    EXPECT_THAT(
        [&] {
          RunSmall(*topic, {{"remap", {"hash"}}});
        },
        ThrowsMessage<Error>(HasSubstr("--remap hash with --ids drawn")));
  }
}

}  // namespace
}  // namespace tessera::bench
