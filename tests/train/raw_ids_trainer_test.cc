// Trainings of tables whose raw ids find their rows by managed collision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/train/testing/files.h"
#include "tests/train/testing/raw_ids_config.h"
#include "train/checkpoint/checkpoint_chain.h"
#include "train/training_run.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::RawIdKind;
using testing::RawIdKinds;
using testing::RawIdsConfig;
using testing::ReadFile;
using testing::TempPath;

class RawIds : public ::testing::TestWithParam<RawIdKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, RawIds, ::testing::ValuesIn(RawIdKinds()),
                         [](const auto& info) { return info.param.name; });

std::string Saved(Trainer& trainer, const std::string& name) {
  trainer.Save(TempPath(name));
  return ReadFile(TempPath(name));
}

TEST_P(RawIds, TrainingGoesOnWhereItStopped) {
  const TrainConfig config = RawIdsConfig(GetParam().config);
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer whole(ctx, config);
  const TrainingRunReport report = RunTraining(whole, DataSets(config, {}));
  ASSERT_EQ(report.raw_ids.size(), 2u);
  for (const RawIdsReport& ids : report.raw_ids) {
    EXPECT_EQ(ids.kind, GetParam().name);
    EXPECT_EQ(ids.rows, 12);
    EXPECT_GT(ids.ids, 5);
    EXPECT_EQ(ids.admitted, ids.ids + ids.evicted);
  }
  EXPECT_GT(report.raw_ids[0].evicted + report.raw_ids[1].evicted, 0);
  for (const int64_t steps : {0, 5, 17}) {
    Context on({.threads = 2, .seed = config.seed});
    Trainer first(on, config);
    TrainingRunOptions options{.checkpoint = TempPath("part")};
    options.stop = [&] { return first.progress().step >= steps; };
    RunTraining(first, DataSets(config, {}), options);
    Context again({.threads = 1, .seed = config.seed});
    Trainer second(again, config);
    EXPECT_TRUE(second.Load(ReadCheckpoint(TempPath("part"))));
    RunTraining(second, DataSets(config, {}));
    EXPECT_TRUE(Saved(second, "again") == Saved(whole, "whole")) << steps;
  }
}

// Deltas of tables that grow, and of states of any size.
TEST_P(RawIds, TrainingGoesOnFromIncrementalCheckpoints) {
  const TrainConfig config = RawIdsConfig(GetParam().config);
  const std::string folder = TempPath("chain_" + GetParam().name);
  std::filesystem::remove_all(folder);
  TrainingRunOptions options{.checkpoint = folder, .checkpoint_every = 2};
  options.incremental = IncrementalOptions{};
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer first(ctx, config);
  options.stop = [&] { return first.progress().step >= 9; };
  RunTraining(first, DataSets(config, {}), options);
  Context again({.threads = 1, .seed = config.seed});
  Trainer second(again, config);
  EXPECT_TRUE(second.Load(ReadCheckpoint(folder)));
  EXPECT_EQ(second.progress().step, 9);
  EXPECT_TRUE(Saved(second, "of_chain") == Saved(first, "whole"));
  options.resumed = ReadCheckpoint(folder).chain;
  options.stop = [] { return false; };
  RunTraining(second, DataSets(config, {}), options);
  Context anew({.threads = 1, .seed = config.seed});
  Trainer whole(anew, config);
  RunTraining(whole, DataSets(config, {}));
  WriteWhole(ReadCheckpoint(folder), TempPath("joined"));
  EXPECT_TRUE(ReadFile(TempPath("joined")) == Saved(whole, "whole"));
}

TEST_P(RawIds, EvaluationGivesNoRows) {
  const TrainConfig config = RawIdsConfig(GetParam().config);
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  const DataSets data(config, {});
  trainer.Step(*data.OpenTrain(0)->Next());
  const std::string before = Saved(trainer, "before");
  trainer.Evaluate(*data.OpenEval());
  EXPECT_TRUE(Saved(trainer, "after") == before);
}

TEST_P(RawIds, ConfigurationIsInTheCheckpoint) {
  const TrainConfig config = RawIdsConfig(GetParam().config);
  EXPECT_EQ(ToJson(ParseTrainConfig(ToJson(config), "saved")), ToJson(config));
}

TEST(RawIdsTrainer, WhatDoesNotGoTogetherIsAnError) {
  const TrainConfig config = RawIdsConfig(MchConfig{});
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  const DataSets data(config, {});
  EXPECT_THAT(ErrorOf([&] { RunTraining(trainer, data, {.pipeline = PipelineKind::kSparseDist}); }),
              HasSubstr("pipeline sparse_dist: raw ids"));
  trainer.Save(TempPath("raw"));
  TrainConfig other = config;
  other.managed_collision.clear();
  Trainer plain(ctx, other);
  EXPECT_THAT(ErrorOf([&] { plain.Load(ReadCheckpoint(TempPath("raw"))); }),
              HasSubstr("take no raw ids here"));
  plain.Save(TempPath("plain"));
  EXPECT_THAT(ErrorOf([&] { trainer.Load(ReadCheckpoint(TempPath("plain"))); }),
              HasSubstr("it lacks 'sparse_arch.embedding_bag_collection.embedding_bags.a._*'"));
}

}  // namespace
}  // namespace tessera
