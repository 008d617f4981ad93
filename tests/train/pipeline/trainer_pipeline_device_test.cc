// Trainings by every pipeline beside the plain loop, on every device.
#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "tests/testing/devices.h"
#include "tests/train/testing/ranks_run.h"

namespace tessera {
namespace {

class TrainerPipelineDeviceTest : public testing::DeviceTest {
 protected:
  // The losses of a few steps, and of the evaluation after them.
  std::vector<double> Train(PipelineKind kind, std::optional<TrainingRanks> ranks) const {
    TrainConfig config = testing::SmallConfig();
    config.data.rows = 150;
    config.data.eval_rows = 60;
    config.batch_size = 32;
    config.epochs = 1;
    Context ctx({.device = device(), .threads = 1, .seed = config.seed});
    Trainer trainer(ctx, config, std::move(ranks));
    std::vector<double> losses;
    TrainingRunOptions options{.pipeline = kind};
    options.on_step = [&](const StepReport& step) { losses.push_back(step.loss); };
    losses.push_back(RunTraining(trainer, DataSets(config, {}), options).evaluation->log_loss);
    return losses;
  }
};

constexpr PipelineKind kExact[] = {PipelineKind::kBase, PipelineKind::kSparseDist,
                                   PipelineKind::kPrefetch};

TEST_P(TrainerPipelineDeviceTest, GivesTheBitsOfThePlainLoop) {
  const std::vector<double> plain = Train(PipelineKind::kNone, {});
  EXPECT_EQ(plain.size(), 6u);
  for (const PipelineKind kind : kExact) EXPECT_EQ(Train(kind, {}), plain) << ToString(kind);
  EXPECT_NE(Train(PipelineKind::kSemiSync, {}), plain);
}

TEST_P(TrainerPipelineDeviceTest, OnRanksToo) {
  RunLocalRanks(2, [&](Communicator& comm) {
    const TrainingRanks ranks{&comm, testing::MixedPlan(testing::SmallConfig(), 2)};
    const std::vector<double> plain = Train(PipelineKind::kNone, ranks);
    for (const PipelineKind kind : kExact) EXPECT_EQ(Train(kind, ranks), plain) << ToString(kind);
    EXPECT_EQ(Train(PipelineKind::kSemiSync, ranks), Train(PipelineKind::kSemiSync, ranks));
  });
}

TESSERA_INSTANTIATE_DEVICES(TrainerPipelineDeviceTest);

}  // namespace
}  // namespace tessera
