// Topics above tables at toy sizes: every kind of point can be made, passes its check, and is
// timed.
#include <gtest/gtest.h>

#include "bench/comm/comm_topic.h"
#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"
#include "bench/planner/plan_topic.h"
#include "bench/serve/serve_topic.h"
#include "bench/train/train_topic.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

std::vector<Measurement> RunToy(const Topic& topic, const AxisValues& flags) {
  std::vector<Measurement> all;
  RunPoints(
      topic, PointsOf(topic, "", flags),
      {.rounds = 2, .flush_bytes = 1 << 20, .rows = [&](const std::vector<Measurement>& rows) {
         all.insert(all.end(), rows.begin(), rows.end());
       }});
  return all;
}

AxisValues SmallTraining() {
  return {{"dim", {"4"}},
          {"batch", {"64"}},
          {"rows", {"1k"}},
          {"examples", {"512"}},
          {"threads", {"2"}}};
}

TEST(ToyRuns, Steps) {
  const auto rows = RunToy(TrainTopic(), SmallTraining());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].items, 64);
  EXPECT_TRUE(rows[0].HasLimit());
}

TEST(ToyRuns, EpochsAndReading) {
  AxisValues flags = SmallTraining();
  flags["part"] = {"epoch", "rows", "batches", "folder", "shuffled", "npy", "preprocess"};
  const auto rows = RunToy(TrainTopic(), flags);
  ASSERT_EQ(rows.size(), 7u);
  for (const Measurement& row : rows) {
    EXPECT_EQ(row.items, 512) << row.case_name;
    EXPECT_GT(row.bytes, 0) << row.case_name;
  }
}

TEST(ToyRuns, MissingDataIsNamed) {
  AxisValues flags = SmallTraining();
  flags["data"] = {"missing.tsv"};
  try {
    RunToy(TrainTopic(), flags);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("missing.tsv: cannot be read"), std::string::npos)
        << error.what();
  }
}

TEST(ToyRuns, Collectives) {
  const auto rows =
      RunToy(CommTopic(), {{"size", {"4Ki", "1000"}}, {"ranks", {"1", "3"}}, {"burst", {"2"}}});
  ASSERT_EQ(rows.size(), 20u);
  for (const Measurement& row : rows) EXPECT_TRUE(row.HasLimit()) << row.case_name;
}

TEST(ToyRuns, Plans) {
  const auto rows = RunToy(PlanTopic(), {{"tables", {"10"}}, {"ranks", {"4"}}});
  ASSERT_EQ(rows.size(), 1u);
  ASSERT_EQ(rows[0].facts.size(), 3u);
  EXPECT_GE(rows[0].facts[2].second, 1) << rows[0].facts[2].first;
}

TEST(ToyRuns, Requests) {
  const auto rows = RunToy(
      ServeTopic(),
      {{"dim", {"8"}}, {"rows", {"100"}}, {"batch", {"1", "3"}}, {"codec", {"f32", "int4"}}});
  ASSERT_EQ(rows.size(), 4u);
  for (const Measurement& row : rows) EXPECT_TRUE(row.HasLimit()) << row.case_name;
}

TEST(ToyRuns, SuitesOfPeers) {
  EXPECT_EQ(PointsOf(TrainTopic(), "peers", {}).front().label(), "step_criteo_D16_B2048");
  EXPECT_EQ(PointsOf(TrainTopic(), "epochs", {}).size(), 4u);
  EXPECT_EQ(PointsOf(TrainTopic(), "reader", {}).size(), 6u);
  EXPECT_EQ(PointsOf(ServeTopic(), "peers", {}).size(), 12u);
  EXPECT_EQ(PointsOf(PlanTopic(), "growth", {}).back().label(), "6400x2048");
}

}  // namespace
}  // namespace tessera::bench
