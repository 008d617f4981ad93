// Trainings of tables whose raw ids find their rows by managed collision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/train/testing/files.h"
#include "tests/train/testing/raw_ids_config.h"
#include "train/checkpoint/checkpoint_chain.h"
#include "train/run/training_run.h"

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

// A model without its training reads the ids that it was trained on.
TEST_P(RawIds, AreOfTheModelWithoutItsTraining) {
  const TrainConfig config = RawIdsConfig(GetParam().config);
  const DataSets data(config, {});
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trained(ctx, config), loaded(ctx, config);
  for (const auto& rows = data.OpenTrain(0); trained.progress().step < 9;)
    trained.Step(*rows->Next());
  trained.Save(TempPath("trained"));
  WriteWhole(ReadCheckpoint(TempPath("trained")), TempPath("alone"), {.run_state = false});
  const Checkpoint alone = ReadCheckpoint(TempPath("alone"));
  EXPECT_FALSE(alone.has_optimizer_state());
  EXPECT_FALSE(loaded.Load(alone));
  const Batch batch = *data.OpenEval()->Next();
  EXPECT_EQ(loaded.Predict(batch).ToVector<float>(), trained.Predict(batch).ToVector<float>());
}

// A checkpoint with more or fewer rows of growing tables is refused for its names or for its ids.
TEST_P(RawIds, ARefusedCheckpointChangesNothing) {
  TrainConfig config = RawIdsConfig(GetParam().config);
  config.dense_optimizer.name = "sgd";  // so that what was not trained fits what was
  const DataSets data(config, {});
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer untrained(ctx, config), trained(ctx, config);
  for (const auto& rows = data.OpenTrain(0); trained.progress().step < 5;)
    trained.Step(*rows->Next());
  const std::string of_untrained = Saved(untrained, "few"), of_trained = Saved(trained, "many");
  EXPECT_LE(of_untrained.size(), of_trained.size());
  const auto refused = [&](Trainer& trainer, const std::string& of, const std::string& lacks) {
    Safetensors content = ReadSafetensors(ctx, TempPath(of));
    content.metadata.erase("crc32");
    EXPECT_GT(
        std::erase_if(content.tensors,
                      [&](const auto& t) { return t.first.find(lacks) != std::string::npos; }),
        0u);
    WriteSafetensors(ctx, TempPath("changed"), content);
    return ErrorOf([&] { trainer.Load(ReadCheckpoint(TempPath("changed"))); });
  };
  for (const std::string lacks : {"over_arch", "._"}) {
    EXPECT_THAT(refused(untrained, "many", lacks), HasSubstr("it lacks '"));
    EXPECT_EQ(Saved(untrained, "few"), of_untrained);
    EXPECT_THAT(refused(trained, "few", lacks), HasSubstr("it lacks '"));
    EXPECT_EQ(Saved(trained, "many"), of_trained);
  }
  ASSERT_TRUE(trained.Load(ReadCheckpoint(TempPath("few"))));
  EXPECT_EQ(Saved(trained, "back"), of_untrained);
}

TEST(RawIdsTrainer, RowsThatAGrowingTableCannotHaveAreRefused) {
  const TrainConfig config = RawIdsConfig(GrowingIndexOptions{});
  TrainConfig larger = config;
  larger.tables[0].num_embeddings = 30;
  const DataSets data(config, {});
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config), other(ctx, larger);
  const auto rows = data.OpenTrain(0);
  trainer.Save(TempPath("small"));
  other.Step(*rows->Next());
  other.Save(TempPath("large"));
  const std::string before = ReadFile(TempPath("small"));
  EXPECT_THAT(ErrorOf([&] { trainer.Load(ReadCheckpoint(TempPath("large"))); }),
              HasSubstr("expected 0 to 12 rows, got "));
  EXPECT_EQ(Saved(trainer, "small"), before);
  trainer.Step(*rows->Next());
  trainer.TrackChanges();
  const std::string trained = Saved(trainer, "trained");
  testing::WriteFile("empty", before);
  EXPECT_THAT(ErrorOf([&] { trainer.Load(ReadCheckpoint(TempPath("empty"))); }),
              HasSubstr("expected 12 to 12 rows, got 0"));
  EXPECT_EQ(Saved(trainer, "trained"), trained);
}

TEST(RawIdsTrainer, WhatDoesNotGoTogetherIsAnError) {
  const TrainConfig config = RawIdsConfig(MchConfig{});
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  const DataSets data(config, {});
  EXPECT_THAT(ErrorOf([&] { RunTraining(trainer, data, {.pipeline = PipelineKind::kSemiSync}); }),
              HasSubstr("the pipeline semi_sync looks rows up before"));
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
