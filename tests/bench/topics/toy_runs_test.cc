// Topics above tables at toy sizes: every kind of point can be made, passes its check, and is
// timed.
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/comm/comm_topic.h"
#include "bench/data/read_topic.h"
#include "bench/data/text_cases.h"
#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"
#include "bench/planner/plan_topic.h"
#include "bench/serve/serve_topic.h"
#include "bench/train/train_topic.h"
#include "runtime/base/check.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/train/testing/files.h"

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
  AxisValues flags = SmallTraining();
  flags.erase("examples");
  const auto rows = RunToy(TrainTopic(), flags);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].items, 64);
  EXPECT_TRUE(rows[0].HasLimit());
}

TEST(ToyRuns, ProductsBesideTheLibrarys) {
  AxisValues flags = {{"part", {"products"}}, {"dim", {"4"}}, {"batch", {"64"}}};
  flags["threads"] = {"2"};
  const auto rows = RunToy(TrainTopic(), flags);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].contender, "library");
  constexpr int64_t kDenseArch = 13 * 512 + 512 * 256 + 256 * 4,
                    kOverArch = (4 + 27 * 26 / 2) * 512 + 512 * 256 + 256;
  EXPECT_EQ(rows[0].items, 64 * (3 * (kDenseArch + kOverArch) - 13 * 512));
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

// A day of multi-hot rows, whose ids differ.
void WriteDay(const std::string& name, int64_t rows) {
  std::vector<std::pair<std::string, std::string>> arrays;
  for (const int64_t hot : MultiHotSizes()) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < rows * hot; ++i) ids.push_back(static_cast<int32_t>(7 * i + hot));
    arrays.emplace_back(std::to_string(arrays.size()),
                        testing::NpyOf("<i4", Format("({}, {})", rows, hot), ids));
  }
  const auto count = static_cast<size_t>(rows);
  testing::WriteFile(name + "_sparse_multi_hot.npz", testing::NpzBytes(arrays));
  testing::WriteFile(name + "_dense.npy", testing::NpyOf("<f4", Format("({}, 13)", rows),
                                                         std::vector<float>(13 * count, 0.1f)));
  testing::WriteFile(name + "_labels.npy", testing::NpyOf("<i4", Format("({}, 1)", rows),
                                                          std::vector<int32_t>(count, 1)));
}

TEST(ToyRuns, OwnRows) {
  for (const char* folder : {"own/multihot", "own/read_text"})
    std::filesystem::create_directories(testing::TempPath(folder));
  WriteDay("own/multihot/day_0", 5);
  WriteDay("own/multihot/day_1", 4);
  testing::WriteFile("own/read_text/criteo.tsv", testing::NumberedLines(0, 9));
  testing::WriteFile("own/read_text/amazon.txt", "0 5 6 7\n1 \n2 8\n");
  testing::WriteFile("own/read_text/ml1m.tsv", "5\t1\t2\tF\t1\t10\t48067\t1975\tDrama|War\n");
  testing::WriteFile("own/read_text/ml1m.jsonl",
                     R"({"rating":5,"user":1,"item":2,"gender":"F","age":1,"occupation":10,)"
                     R"("zip":"48067","year":1975,"genres":["Drama","War"]})");
  AxisValues flags = {
      {"rows",
       {"npz", "folder", "text_criteo_tsv", "text_amazon_txt", "text_ml1m_tsv", "text_ml1m_jsonl"}},
      {"threads", {"2"}}};
  EXPECT_THROW(RunToy(ReadTopic(), flags), Error);  // no files
  flags["files"] = {testing::TempPath("own")};
  const auto rows = RunToy(ReadTopic(), flags);
  ASSERT_EQ(rows.size(), 6u);
  const int64_t expected[] = {9, 9, 9, 3, 1, 1};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].items, expected[i]) << rows[i].case_name;
    EXPECT_TRUE(rows[i].HasLimit()) << rows[i].case_name;
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
  EXPECT_EQ(PointsOf(ReadTopic(), "multihot", {}).front().label(), "read_B2048");
  EXPECT_EQ(PointsOf(ReadTopic(), "text", {}).size(), 6u);
  EXPECT_EQ(PointsOf(ServeTopic(), "peers", {}).size(), 12u);
  EXPECT_EQ(PointsOf(PlanTopic(), "growth", {}).back().label(), "6400x2048");
}

}  // namespace
}  // namespace tessera::bench
