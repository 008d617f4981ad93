// Every type of model by configuration: it learns, goes on where it stopped, and is trained by
// ranks as by one process. same_bits_test has their bits; trainer_test and ranks_trainer_test look
// at DLRM closely.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "comm/local_communicator.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/model_configs.h"
#include "tests/train/testing/ranks_run.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {
namespace {

using testing::ConfigOf;
using testing::CurveOf;
using testing::MixedPlan;
using testing::RunCurve;
using testing::TempPath;

class ModelsTrainer : public ::testing::TestWithParam<RankingModelType> {};
INSTANTIATE_TEST_SUITE_P(Types, ModelsTrainer, ::testing::ValuesIn(kRankingModelTypes),
                         [](const auto& info) { return ToString(info.param); });

// The result of a run that stops after `stop` steps, if given, and goes on in another trainer.
std::string Trained(const TrainConfig& config, std::optional<int64_t> stop = {}) {
  const std::string path = TempPath(ToString(config.model.type));
  const auto run = [&](bool resumes, std::optional<int64_t> until) {
    Context ctx({.threads = 1, .seed = resumes ? 99 : config.seed});
    Trainer trainer(ctx, config);
    EXPECT_EQ(resumes && trainer.Load(ReadCheckpoint(path)), resumes);
    TrainingRunOptions options;
    if (until) options.stop = [&] { return trainer.progress().step >= *until; };
    RunTraining(trainer, DataSets(config, {}), options);
    trainer.Save(path);
  };
  run(false, stop);
  if (stop) run(true, {});
  return testing::ReadFile(path);
}

// 400 examples a step, whose micro-batches have 128 and 16.
TEST_P(ModelsTrainer, MicroBatchesTrainAsOneBatch) {
  TrainConfig cut = ConfigOf(GetParam());
  cut.data.rows = 1000;
  cut.batch_size = 100;
  cut.accumulate_steps = 4;
  TrainConfig whole = cut;
  whole.batch_size = 400;
  whole.accumulate_steps = 1;
  const std::vector<double> losses = CurveOf(cut).losses;
  EXPECT_EQ(losses.size(), 6u);  // of two epochs
  EXPECT_EQ(losses, CurveOf(whole).losses);
}

TEST_P(ModelsTrainer, LearnsAndGoesOnWithTheSameBits) {
  const TrainConfig config = ConfigOf(GetParam());
  const std::vector<double> losses = CurveOf(config).losses;
  const auto second = losses.begin() + std::ssize(losses) / 2;  // of two epochs
  EXPECT_LT(std::accumulate(second, losses.end(), 0.0),
            std::accumulate(losses.begin(), second, 0.0));
  EXPECT_TRUE(Trained(config, 20) == Trained(config));
}

// One table never takes its max_counter anew, and the other every 3 steps.
TEST(ModelsTrainerTest, TablesGoOnWithMaxCountersOfTheirOwn) {
  TrainConfig config = testing::SmallConfig();
  CounterRowwiseAdagrad often;
  often.learning_rate_mode = CounterRateMode::kTailIdLrIncrease;
  often.adjustment_iter = -1;
  often.tail_id_threshold = 2;
  often.max_counter_update_freq = 3;
  CounterRowwiseAdagrad never = often;
  never.max_counter_update_freq = 0;
  never.max_counter = 0.5f;
  config.tables[0].optimizer = often;
  config.tables[1].optimizer = never;
  EXPECT_TRUE(Trained(config, 20) == Trained(config));

  const auto of_ranks = [&](const TrainConfig& c, const std::string& to, const std::string& from) {
    RunLocalRanks(2, [&](Communicator& comm) {
      CurveOf(c, TrainingRanks{&comm, testing::PlanFor(c, 2, "table_wise")}, to, from);
    });
  };
  const std::string whole = TempPath("counted"), half = TempPath("counted_half"),
                    resumed = TempPath("counted_on");
  of_ranks(config, whole, "");
  TrainConfig first = config;
  first.epochs = 1;
  of_ranks(first, half, "");
  of_ranks(config, resumed, half);
  const Checkpoint a = ReadCheckpoint(whole), b = ReadCheckpoint(resumed);
  EXPECT_EQ(a.progress->max_counters, (std::map<std::string, float>{{"b", 0.5f}}));
  EXPECT_EQ(a.progress, b.progress);
  Context ctx({.threads = 1});
  for (const CheckpointEntry& entry : a.tensors)
    EXPECT_TRUE(
        SameBits(a.Read(ctx, entry),
                 b.Read(ctx, *std::ranges::find(b.tensors, entry.name, &CheckpointEntry::name))))
        << entry.name;
}

TEST_P(ModelsTrainer, RanksGiveTheCurveOfOneProcessAndGoOn) {
  const TrainConfig config = ConfigOf(GetParam());
  const auto of_ranks = [&](const TrainConfig& c, const std::string& to, const std::string& from) {
    RunCurve curve;
    RunLocalRanks(2, [&](Communicator& comm) {
      RunCurve mine = CurveOf(c, TrainingRanks{&comm, MixedPlan(c, 2)}, to, from);
      if (comm.rank() == 0) curve = std::move(mine);
    });
    return curve;
  };
  const RunCurve alone = CurveOf(config), ranks = of_ranks(config, "", "");
  ASSERT_EQ(ranks.losses.size(), alone.losses.size());
  for (size_t i = 0; i < alone.losses.size(); ++i)
    EXPECT_NEAR(ranks.losses[i], alone.losses[i], 2e-5 * alone.losses[i]) << i;
  EXPECT_NEAR(ranks.evaluation.auc, alone.evaluation.auc, 1e-3);

  TrainConfig first = config;
  first.epochs = 1;
  const std::string folder = TempPath(ToString(GetParam()) + "_ranks");
  std::vector<double> losses = of_ranks(first, folder, "").losses;
  const std::vector<double> rest = of_ranks(config, "", folder).losses;
  losses.insert(losses.end(), rest.begin(), rest.end());
  EXPECT_EQ(losses, ranks.losses);
}

}  // namespace
}  // namespace tessera
