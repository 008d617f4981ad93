// Trainings by every pipeline beside the plain loop: losses and checkpoints, stopped and resumed,
// alone and on ranks.
#include "train/pipeline/trainer_pipeline.h"

#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "tests/train/testing/raw_ids_config.h"
#include "train/checkpoint/whole_tables.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::MixedPlan;
using testing::PlanFor;
using testing::SmallConfig;
using testing::TempPath;

constexpr PipelineKind kExact[] = {PipelineKind::kBase, PipelineKind::kSparseDist,
                                   PipelineKind::kPrefetch};

struct RunOptions {
  PipelineKind kind = PipelineKind::kNone;
  int64_t stop_after = -1, checkpoint_every = 0;
  bool resume = false;
};

struct Trained {
  std::vector<double> losses;
  std::string checkpoint;  // its bytes
  double log_loss = 0;
  friend bool operator==(const Trained&, const Trained&) = default;
};

TrainingRunReport RunOne(const TrainConfig& config, const RunOptions& options,
                         std::optional<TrainingRanks> ranks, const std::string& path,
                         std::vector<double>& losses) {
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config, ranks);
  if (options.resume && ranks) {
    ShardedCheckpoint saved(path);
    trainer.Load(saved);
  } else if (options.resume) {
    trainer.Load(ReadCheckpoint(path));
  }
  TrainingRunOptions run{
      .checkpoint = path, .checkpoint_every = options.checkpoint_every, .pipeline = options.kind};
  run.on_step = [&](const StepReport& step) { losses.push_back(step.loss); };
  if (options.stop_after >= 0)
    run.stop = [&] { return trainer.progress().step >= options.stop_after; };
  return RunTraining(trainer, DataSets(config, {}), run);
}

ShardingPlan PlanOf(const TrainConfig& config, int ranks) {
  if (config.managed_collision.empty()) return MixedPlan(config, ranks);
  return PlanFor(config, ranks, "row_wise");
}

Trained Train(const TrainConfig& config, const RunOptions& options, int ranks) {
  const std::string path = TempPath("run" + std::to_string(ranks));
  Trained trained;
  const auto take = [&](const TrainingRunReport& report) {
    if (report.evaluation) trained.log_loss = report.evaluation->log_loss;
  };
  if (ranks == 0) {
    take(RunOne(config, options, {}, path, trained.losses));
    trained.checkpoint = testing::ReadFile(path);
    return trained;
  }
  RunLocalRanks(ranks, [&](Communicator& comm) {
    std::vector<double> losses;
    const TrainingRunReport report =
        RunOne(config, options, TrainingRanks{&comm, PlanOf(config, ranks)}, path, losses);
    if (!IsLeader(comm)) return;
    trained.losses = losses;
    take(report);
  });
  ShardedCheckpoint folder(path);
  WriteWhole(WholeTables(folder), path + ".safetensors");
  trained.checkpoint = testing::ReadFile(path + ".safetensors");
  return trained;
}

TEST(TrainerPipeline, GivesTheBitsOfThePlainLoop) {
  for (const int ranks : {0, 1, 3}) {
    const Trained plain = Train(SmallConfig(), {}, ranks);
    EXPECT_EQ(plain.losses.size(), 32u);
    for (const PipelineKind kind : kExact)
      EXPECT_TRUE(Train(SmallConfig(), {.kind = kind}, ranks) == plain)
          << ToString(kind) << ", ranks " << ranks;
  }
}

TEST(TrainerPipeline, StoppedAndResumedByAnyOtherItLosesNothing) {
  for (const int ranks : {0, 2}) {
    const Trained plain = Train(SmallConfig(), {}, ranks);
    for (const PipelineKind kind : kExact) {
      const Trained first = Train(SmallConfig(), {.kind = kind, .stop_after = 5}, ranks);
      EXPECT_EQ(first.losses.size(), 5u);
      Trained rest =
          Train(SmallConfig(), {.kind = PipelineKind::kSparseDist, .resume = true}, ranks);
      rest.losses.insert(rest.losses.begin(), first.losses.begin(), first.losses.end());
      EXPECT_TRUE(rest == plain) << ToString(kind) << ", ranks " << ranks;
    }
  }
}

// A config for each kind of managed collision; rows for ids are found in the order of the steps.
std::vector<TrainConfig> RawIdConfigs() {
  std::vector<TrainConfig> configs;
  for (testing::RawIdKind& kind : testing::RawIdKinds()) {
    if (auto* mch = std::get_if<MchConfig>(&kind.config)) mch->mch_size = 0;
    configs.push_back(testing::RawIdsConfig(kind.config, 3));
  }
  return configs;
}

TEST(TrainerPipeline, RawIdsGetTheRowsOfThePlainLoop) {
  for (const TrainConfig& config : RawIdConfigs())
    for (const int ranks : {0, 3}) {
      const RunOptions every{.checkpoint_every = 6};
      const Trained plain = Train(config, every, ranks);
      for (const PipelineKind kind : {PipelineKind::kSparseDist, PipelineKind::kPrefetch}) {
        RunOptions options = every;
        options.kind = kind;
        EXPECT_TRUE(Train(config, options, ranks) == plain)
            << ToString(kind) << ", ranks " << ranks;
        options.stop_after = 7;
        const Trained first = Train(config, options, ranks);
        Trained rest = Train(config, {.kind = kind, .resume = true}, ranks);
        rest.losses.insert(rest.losses.begin(), first.losses.begin(), first.losses.end());
        EXPECT_TRUE(rest == plain) << ToString(kind) << " resumed, ranks " << ranks;
      }
    }
}

TEST(TrainerPipeline, RawIdsAreNotLookedUpBehind) {
  const std::string error =
      ErrorOf([] { Train(RawIdConfigs()[0], {.kind = PipelineKind::kSemiSync}, 0); });
  EXPECT_NE(error.find("table a: its raw ids (managed_collision) find their rows inside the step, "
                       "but the pipeline semi_sync looks rows up before"),
            std::string::npos)
      << error;
}

// After a checkpoint is saved, the next batch is looked up again.
TEST(TrainerPipeline, SemiSyncIsResumedWhereItSaved) {
  for (const int ranks : {0, 2}) {
    const RunOptions semi_sync{.kind = PipelineKind::kSemiSync, .checkpoint_every = 6};
    const Trained whole = Train(SmallConfig(), semi_sync, ranks);
    EXPECT_NE(whole.losses, Train(SmallConfig(), {}, ranks).losses);
    RunOptions part = semi_sync;
    part.stop_after = 12;
    const Trained first = Train(SmallConfig(), part, ranks);
    part = semi_sync;
    part.resume = true;
    Trained rest = Train(SmallConfig(), part, ranks);
    rest.losses.insert(rest.losses.begin(), first.losses.begin(), first.losses.end());
    EXPECT_TRUE(rest == whole) << "ranks " << ranks;
  }
}

TEST(TrainerPipeline, FollowsSchedules) {
  TrainConfig config = SmallConfig();
  config.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 6, .value = 0.1}};
  const Trained plain = Train(config, {}, 2);
  EXPECT_TRUE(Train(config, {.kind = PipelineKind::kSparseDist}, 2) == plain);
  Train(config, {.kind = PipelineKind::kSemiSync}, 2);
}

// One row a batch at the end: a rank without rows still takes part.
TEST(TrainerPipeline, MoreRanksThanRows) {
  TrainConfig config = SmallConfig();
  config.data.rows = 65;
  const Trained plain = Train(config, {}, 3);
  for (const PipelineKind kind : kExact)
    EXPECT_TRUE(Train(config, {.kind = kind}, 3) == plain) << ToString(kind);
}

// Batches 0 to 3, then an error, on one rank.
class FailingSource final : public DataSource {
 public:
  explicit FailingSource(std::unique_ptr<DataSource> source) : source_(std::move(source)) {}
  std::optional<Batch> Next() override {
    if (batches_++ == 4) throw Error("line 5 is bad");
    return source_->Next();
  }

 private:
  std::unique_ptr<DataSource> source_;
  int batches_ = 0;
};

TEST(TrainerPipeline, ARankWhoseDataFailEndsAll) {
  const TrainConfig config = SmallConfig();
  for (const PipelineKind kind :
       {PipelineKind::kNone, PipelineKind::kBase, PipelineKind::kSparseDist,
        PipelineKind::kPrefetch, PipelineKind::kSemiSync}) {
    const std::string error = ErrorOf([&] {
      RunLocalRanks(3, [&](Communicator& comm) {
        Context ctx({.threads = 1, .seed = config.seed});
        Trainer trainer(ctx, config, TrainingRanks{&comm, MixedPlan(config, 3)});
        std::unique_ptr<DataSource> source = DataSets(config, {}).OpenTrain(0);
        if (comm.rank() == 1) source = std::make_unique<FailingSource>(std::move(source));
        TrainerPipeline pipeline(trainer, kind);
        const auto steps = pipeline.Over(*source, false);
        while (steps->Next()) {
        }
      });
    });
    EXPECT_NE(error.find("rank 1: line 5 is bad"), std::string::npos)
        << ToString(kind) << ": " << error;
  }
}

TEST(TrainerPipeline, NamesAreReadAndOthersRefused) {
  EXPECT_EQ(ParsePipelineKind("semi_sync"), PipelineKind::kSemiSync);
  EXPECT_NE(ErrorOf([] { ParsePipelineKind("sparse"); }).find("pipeline 'sparse': expected none"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
