// Trainings of several ranks whose tables take raw ids, beside the same of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "tests/train/testing/raw_ids_config.h"

namespace tessera {
namespace {

using testing::CurveOf;
using testing::CurveOfRanks;
using testing::ErrorOf;
using testing::ExpectNear;
using testing::Exported;
using ::testing::HasSubstr;
using testing::PlanFor;
using testing::RawIdKind;
using testing::RawIdKinds;
using testing::RawIdsConfig;
using testing::ReadFile;
using testing::RunCurve;
using testing::TempPath;

// A config with few rows: much is evicted in each of 3 parts.
TrainConfig ConfigOf(const RawIdKind& kind) {
  ManagedCollisionConfig managed = kind.config;
  if (auto* mch = std::get_if<MchConfig>(&managed)) mch->mch_size = 0;
  return RawIdsConfig(managed, 3);
}

// The raw ids in a checkpoint, by name.
std::map<std::string, std::vector<int64_t>> IdsIn(const std::string& path) {
  Context ctx({.threads = 1});
  const Checkpoint checkpoint = ReadCheckpoint(path);
  std::map<std::string, std::vector<int64_t>> ids;
  for (const CheckpointEntry& entry : checkpoint.tensors)
    if (IsIdState(entry.name))
      ids[entry.name] = checkpoint.Read(ctx, entry).To(ctx, DType::kI64).ToVector<int64_t>();
  return ids;
}

class RawIdsRanks : public ::testing::TestWithParam<RawIdKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, RawIdsRanks, ::testing::ValuesIn(RawIdKinds()),
                         [](const auto& info) { return info.param.name; });

TEST_P(RawIdsRanks, OneRankGivesTheBitsOfNone) {
  const TrainConfig config = ConfigOf(GetParam());
  const std::string file = TempPath("none"), folder = TempPath("one");
  const RunCurve alone = CurveOf(config, {}, file);
  EXPECT_EQ(CurveOfRanks(config, 1, PlanFor(config, 1, "row_wise"), folder).losses, alone.losses);
  EXPECT_TRUE(ReadFile(Exported(folder)) == ReadFile(file));
}

TEST_P(RawIdsRanks, IdsGetTheSameRowsOnAnyNumberOfRanks) {
  const TrainConfig config = ConfigOf(GetParam());
  const RunCurve alone = CurveOf(config, {}, TempPath("none"));
  const auto expected = IdsIn(TempPath("none"));
  EXPECT_GE(expected.size(), 6u);
  for (const int ranks : {2, 3, 5})
    for (const char* plan : {"row_wise", "table_wise", ""}) {
      const std::string folder = TempPath("ranks");
      ExpectNear(CurveOfRanks(config, ranks, PlanFor(config, ranks, plan), folder), alone, 1e-4);
      EXPECT_EQ(IdsIn(Exported(folder)), expected) << ranks << " " << plan;
    }
}

TEST_P(RawIdsRanks, GoOnOnAnotherNumberOfRanks) {
  TrainConfig config = ConfigOf(GetParam());
  CurveOf(config, {}, TempPath("none"));
  config.epochs = 1;
  CurveOfRanks(config, 2, PlanFor(config, 2, "row_wise"), TempPath("half"));
  config.epochs = 2;
  RunLocalRanks(3, [&](Communicator& comm) {
    CurveOf(config, TrainingRanks{&comm, PlanFor(config, 3, "row_wise")}, TempPath("rest"),
            TempPath("half"));
  });
  EXPECT_EQ(IdsIn(Exported(TempPath("rest"))), IdsIn(TempPath("none")));
}

TEST_P(RawIdsRanks, ReportsAreOfAllRanks) {
  const TrainConfig config = ConfigOf(GetParam());
  const auto reports_of = [&](std::optional<TrainingRanks> ranks) {
    Context ctx({.threads = 1, .seed = config.seed});
    Trainer trainer(ctx, config, std::move(ranks));
    return RunTraining(trainer, DataSets(config, {})).raw_ids;
  };
  const std::vector<RawIdsReport> alone = reports_of({});
  RunLocalRanks(2, [&](Communicator& comm) {
    const auto reports = reports_of(TrainingRanks{&comm, PlanFor(config, 2, "row_wise")});
    ASSERT_EQ(reports.size(), 2u);
    for (size_t t = 0; t < 2; ++t) {
      EXPECT_EQ(reports[t].table, alone[t].table);
      EXPECT_EQ(reports[t].ids, alone[t].ids);
      EXPECT_EQ(reports[t].admitted, alone[t].admitted);
      EXPECT_EQ(reports[t].evicted, alone[t].evicted);
      EXPECT_GT(reports[t].evicted, 0);
    }
  });
}

TEST(RawIdsRanks, WhatDoesNotFitIsAnError) {
  const TrainConfig config = RawIdsConfig(GrowingIndexOptions{}, 3);
  const auto run = [](const TrainConfig& run, const std::string& plan, const std::string& folder) {
    return ErrorOf([&] { CurveOfRanks(run, 2, PlanFor(run, 2, plan), folder); });
  };
  EXPECT_THAT(run(RawIdsConfig(GrowingIndexOptions{}), "row_wise", ""),
              HasSubstr("table a: its raw ids are in no parts"));
  EXPECT_THAT(run(config, "column_wise", ""), HasSubstr("table a is sharded column_wise"));
  EXPECT_EQ(run(config, "row_wise", TempPath("three")), "");
  const auto load = [&](const TrainConfig& other) {
    return ErrorOf([&] {
      RunLocalRanks(2, [&](Communicator& comm) {
        CurveOf(other, TrainingRanks{&comm, PlanFor(other, 2, "")}, "", TempPath("three"));
      });
    });
  };
  TrainConfig plain = config;
  plain.managed_collision.clear();
  EXPECT_THAT(load(plain), HasSubstr("it has state of raw ids"));
  TrainConfig fewer = config;
  fewer.managed_collision.erase(config.tables[1].name);
  EXPECT_THAT(load(fewer), HasSubstr("it has state of raw ids"));
}

}  // namespace
}  // namespace tessera
