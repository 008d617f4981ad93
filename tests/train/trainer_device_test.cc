// Training on every device: it follows the CPU, and a checkpoint goes from one to the other.
#include <gtest/gtest.h>

#include <cmath>

#include "comm/local_communicator.h"
#include "tests/testing/devices.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"

namespace tessera {
namespace {

using testing::SmallConfig;
using testing::TempPath;

// 32 rows a step, 5 steps.
TrainConfig FewSteps() {
  TrainConfig config = SmallConfig();
  config.data.rows = 160;
  config.data.eval_rows = 100;
  config.batch_size = 32;
  config.epochs = 1;
  return config;
}

struct Trained {
  std::vector<double> losses;
  MetricValues evaluation;
};

Trained Train(Trainer& trainer, const TrainConfig& config, const std::string& checkpoint = "") {
  Trained trained;
  TrainingRunOptions options{.checkpoint = checkpoint};
  options.on_step = [&](const StepReport& step) { trained.losses.push_back(step.loss); };
  trained.evaluation = RunTraining(trainer, DataSets(config, {}), options).evaluation.value();
  return trained;
}

double LargestDifference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const std::vector<float> x = a[i].tensor.ToVector<float>(), y = b[i].tensor.ToVector<float>();
    for (size_t k = 0; k < x.size(); ++k)
      largest = std::max(largest, static_cast<double>(std::abs(x[k] - y[k])));
  }
  return largest;
}

class TrainerDeviceTest : public testing::DeviceTest {
 protected:
  // A context of its own with the configuration's seed, so that the model begins with its numbers.
  Context& Seeded(Device on, DenseProducts products = DenseProducts::kDefault) {
    contexts_.push_back(std::make_unique<Context>(
        ContextOptions{.device = on, .threads = 1, .seed = 3, .dense_products = products}));
    return *contexts_.back();
  }

 private:
  std::vector<std::unique_ptr<Context>> contexts_;
};

TEST_P(TrainerDeviceTest, FollowsTheCpu) {
  const TrainConfig config = FewSteps();
  Trainer cpu(Seeded(Device::Cpu()), config), here(Seeded(device()), config);
  EXPECT_EQ(LargestDifference(cpu.State(), here.State()), 0);
  const Trained expected = Train(cpu, config), got = Train(here, config);
  ASSERT_EQ(got.losses.size(), 5u);
  for (size_t i = 0; i < got.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i], expected.losses[i], 1e-5) << "step " << i;
  EXPECT_LT(LargestDifference(cpu.State(), here.State()), 1e-4);
  EXPECT_EQ(got.evaluation.examples, 100);
  EXPECT_NEAR(got.evaluation.log_loss, expected.evaluation.log_loss, 1e-5);
  EXPECT_NEAR(got.evaluation.auc, expected.evaluation.auc, 1e-3);
}

TEST_P(TrainerDeviceTest, PortableProductsGiveTheCpusBits) {
  const TrainConfig config = FewSteps();
  Trainer cpu(Seeded(Device::Cpu()), config),
      here(Seeded(device(), DenseProducts::kPortable), config);
  Train(cpu, config, TempPath("cpu"));
  Train(here, config, TempPath("here"));
  EXPECT_EQ(LargestDifference(cpu.State(), here.State()), 0);
  EXPECT_TRUE(testing::ReadFile(TempPath("cpu")) == testing::ReadFile(TempPath("here")));
}

TEST_P(TrainerDeviceTest, GivesTheSameBitsAgain) {
  const TrainConfig config = FewSteps();
  std::string bytes[2];
  for (std::string& run : bytes) {
    Trainer trainer(Seeded(device()), config);
    Train(trainer, config, TempPath("again"));
    run = testing::ReadFile(TempPath("again"));
  }
  EXPECT_TRUE(bytes[0] == bytes[1]);
}

TEST_P(TrainerDeviceTest, CheckpointsGoFromOneDeviceToTheOther) {
  const TrainConfig config = FewSteps();
  Trainer here(Seeded(device()), config);
  Train(here, config, TempPath("here"));
  Trainer cpu(Seeded(Device::Cpu()), config);
  ASSERT_TRUE(cpu.Load(ReadCheckpoint(TempPath("here"))));
  EXPECT_EQ(LargestDifference(cpu.State(), here.State()), 0);
  EXPECT_EQ(cpu.progress(), here.progress());
  cpu.Save(TempPath("cpu"));
  EXPECT_TRUE(testing::ReadFile(TempPath("cpu")) == testing::ReadFile(TempPath("here")));
  Trainer back(Seeded(device()), config);
  ASSERT_TRUE(back.Load(ReadCheckpoint(TempPath("cpu"))));
  EXPECT_EQ(LargestDifference(back.State(), here.State()), 0);
}

TEST_P(TrainerDeviceTest, ResumingGivesTheBitsOfATrainingThatNeverStopped) {
  const TrainConfig config = FewSteps();
  Trainer whole(Seeded(device()), config);
  Train(whole, config, TempPath("whole"));
  {
    Trainer first(Seeded(device()), config);
    TrainingRunOptions options{.checkpoint = TempPath("part")};
    options.stop = [&] { return first.progress().step >= 2; };
    EXPECT_TRUE(RunTraining(first, DataSets(config, {}), options).stopped);
  }
  Trainer second(Seeded(device()), config);
  ASSERT_TRUE(second.Load(ReadCheckpoint(TempPath("part"))));
  Train(second, config, TempPath("resumed"));
  EXPECT_TRUE(testing::ReadFile(TempPath("resumed")) == testing::ReadFile(TempPath("whole")));
}

TEST_P(TrainerDeviceTest, RanksFollowOneProcess) {
  const TrainConfig config = FewSteps();
  const testing::RunCurve expected = testing::CurveOf(config);
  for (const ShardingPlan& plan :
       {testing::MixedPlan(config, 2), testing::PlanFor(config, 2, "column_wise")}) {
    testing::RunCurve got;
    RunLocalRanks(2, [&](Communicator& comm) {
      testing::RunCurve mine =
          testing::CurveOf(config, TrainingRanks{&comm, plan}, "", "", device());
      if (IsLeader(comm)) got = std::move(mine);
    });
    ASSERT_EQ(got.losses.size(), 5u);
    for (size_t i = 0; i < got.losses.size(); ++i)
      EXPECT_NEAR(got.losses[i], expected.losses[i], 1e-4) << "step " << i;
    EXPECT_NEAR(got.evaluation.log_loss, expected.evaluation.log_loss, 1e-4);
  }
}

TESSERA_INSTANTIATE_DEVICES(TrainerDeviceTest);

}  // namespace
}  // namespace tessera
