// Trainings of several ranks beside the same training of one.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "comm/local_communicator.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"

namespace tessera {
namespace {

using testing::CurveOf;
using testing::CurveOfRanks;
using testing::ErrorOf;
using testing::ExpectNear;
using testing::Exported;
using testing::MixedPlan;
using testing::PlanFor;
using testing::RunCurve;
using testing::SmallConfig;
using testing::TempPath;
using testing::TensorsOf;

// The last batch of an epoch has 40 rows.
TEST(RanksTrainer, OneRankGivesTheBitsOfNone) {
  const TrainConfig config = SmallConfig();
  const std::string file = TempPath("none"), folder = TempPath("one");
  const RunCurve alone = CurveOf(config, {}, file);
  const RunCurve one = CurveOfRanks(config, 1, PlanFor(config, 1, "table_wise"), folder);
  EXPECT_EQ(one.losses, alone.losses);
  EXPECT_TRUE(testing::ReadFile(Exported(folder)) == testing::ReadFile(file));
}

class RanksTrainerPlans : public ::testing::TestWithParam<std::tuple<int, std::string>> {};

TEST_P(RanksTrainerPlans, GiveTheCurveOfOneProcess) {
  const auto& [ranks, choice] = GetParam();
  TrainConfig config = SmallConfig();
  config.tables[1].optimizer = Adagrad{.lr = 0.1f};  // columns share no statistics
  ExpectNear(CurveOfRanks(config, ranks, PlanFor(config, ranks, choice)), CurveOf(config), 1e-5);
}
INSTANTIATE_TEST_SUITE_P(All, RanksTrainerPlans,
                         ::testing::Combine(::testing::Values(2, 4),
                                            ::testing::Values("", "table_wise", "row_wise",
                                                              "column_wise", "data_parallel")));

TEST(RanksTrainer, MoreRanksThanRows) {
  TrainConfig config = SmallConfig();
  config.data.rows = 66;  // the last batch has 2 rows
  config.data.eval_rows = 3;
  config.epochs = 3;
  ExpectNear(CurveOfRanks(config, 4, PlanFor(config, 4, "")), CurveOf(config), 1e-5);
}

TEST(RanksTrainer, ScheduleAndClippingActOnAllRanksAlike) {
  TrainConfig config = SmallConfig();
  config.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 6, .value = 0.1}};
  config.gradient_clipping = {.mode = GradientClipping::kNorm, .max_gradient = 0.05};
  ExpectNear(CurveOfRanks(config, 3, MixedPlan(config, 3)), CurveOf(config), 1e-5);
}

TEST(RanksTrainer, SchedulesReachTwoBlocksOfATableOnOneRank) {
  TrainConfig config = SmallConfig();
  for (EmbeddingBagConfig& table : config.tables) table.embedding_dim = 8;
  config.model.dense_arch.back() = 8;
  config.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 6, .value = 0.1}};
  const ShardingPlan plan =
      MakeShardingPlan({2, 2}, testing::ShapesOf(config),
                       {{"a", ColumnWise({1, 1})}, {"b", TableWise(0)}, {"c", DataParallel()}});
  ExpectNear(CurveOfRanks(config, 2, plan), CurveOf(config), 1e-5);
}

TEST(RanksTrainer, RunsGiveEqualBits) {
  const TrainConfig config = SmallConfig();
  std::vector<std::string> files;
  for (const char* folder : {"first", "second"}) {
    CurveOfRanks(config, 4, MixedPlan(config, 4), TempPath(folder));
    files.push_back(testing::ReadFile(Exported(TempPath(folder))));
  }
  EXPECT_TRUE(files[0] == files[1]);
}

TEST(RanksTrainer, WireCodecsRoundWhatTravels) {
  const TrainConfig config = SmallConfig();
  const ShardingPlan plan = PlanFor(config, 2, "table_wise");
  const RunCurve exact = CurveOfRanks(config, 2, plan),
                 rounded = CurveOfRanks(config, 2, plan, "", ParseWireCodecs("fp16"));
  EXPECT_NE(rounded.losses, exact.losses);
  ExpectNear(rounded, exact, 1e-2);
}

TEST(RanksTrainer, GoesOnWhereItStopped) {
  TrainConfig config = SmallConfig();
  const ShardingPlan plan = MixedPlan(config, 3);
  const RunCurve whole = CurveOfRanks(config, 3, plan, TempPath("whole"));
  config.epochs = 1;
  CurveOfRanks(config, 3, plan, TempPath("half"));
  config.epochs = 2;
  const auto go_on = [&](int ranks, const ShardingPlan& after) {
    RunCurve curve;
    RunLocalRanks(ranks, [&](Communicator& comm) {
      RunCurve mine =
          CurveOf(config, TrainingRanks{&comm, after}, TempPath("rest"), TempPath("half"));
      if (comm.rank() == 0) curve = std::move(mine);
    });
    return curve;
  };
  go_on(3, plan);
  EXPECT_TRUE(testing::ReadFile(Exported(TempPath("rest"))) ==
              testing::ReadFile(Exported(TempPath("whole"))));
  RunCurve second_epoch = whole;
  second_epoch.losses.erase(second_epoch.losses.begin(), second_epoch.losses.begin() + 16);
  ExpectNear(go_on(2, PlanFor(config, 2, "row_wise")), second_epoch, 1e-5);
}

TEST(RanksTrainer, StopsTogether) {
  const TrainConfig config = SmallConfig();
  RunLocalRanks(3, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = config.seed});
    Trainer trainer(ctx, config, TrainingRanks{&comm, PlanFor(config, 3, "")});
    TrainingRunOptions options;
    if (comm.rank() == 1) options.stop = [&] { return trainer.progress().step >= 5; };
    EXPECT_TRUE(RunTraining(trainer, DataSets(config, {}), options).stopped);
    EXPECT_EQ(trainer.progress().step, 5);
  });
}

TEST(RanksTrainer, DivergingIsAnErrorOfAllRanks) {
  const TrainConfig config = SmallConfig();
  RunLocalRanks(3, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = config.seed});
    Trainer trainer(ctx, config, TrainingRanks{&comm, PlanFor(config, 3, "")});
    if (comm.rank() == 1)
      trainer.model().Parameters().back().variable.value().Fill(
          ctx, std::numeric_limits<double>::quiet_NaN());
    const std::string error = ErrorOf([&] { RunTraining(trainer, DataSets(config, {})); });
    EXPECT_NE(error.find("the loss of step 1 is nan: the training diverged"), std::string::npos)
        << error;
  });
}

TEST(RanksTrainer, RefusesPlansOfOtherRanks) {
  const TrainConfig config = SmallConfig();
  const std::string error = ErrorOf([&] { CurveOfRanks(config, 2, PlanFor(config, 3, "")); });
  EXPECT_NE(error.find("ranks of the plan"), std::string::npos) << error;
}

// Tables a and b are trained by the dense optimizer, whose norm of gradients is that of all ranks.
TrainConfig DenseTables(const std::string& dense) {
  TrainConfig config = SmallConfig(dense);
  config.tables[0].optimizer = config.tables[1].optimizer = Dense{};
  config.gradient_clipping = {.mode = GradientClipping::kNorm, .max_gradient = 0.02};
  config.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 6, .value = 0.1}};
  return config;
}

class DenseTablesOnRanks : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};
INSTANTIATE_TEST_SUITE_P(
    All, DenseTablesOnRanks,
    ::testing::Combine(
        ::testing::Values(R"({"name": "adam", "lr": 0.02})", R"({"name": "adagrad", "lr": 0.05})",
                          R"({"name": "sgd", "lr": 0.05, "momentum": 0.9})"),
        ::testing::Values("mixed", "table_wise", "row_wise", "column_wise", "data_parallel")));

TEST_P(DenseTablesOnRanks, TrainAndAreSavedAsThoseOfOneProcess) {
  const auto& [dense, choice] = GetParam();
  const TrainConfig config = DenseTables(dense);
  const ShardingPlan plan = choice == "mixed" ? MixedPlan(config, 4) : PlanFor(config, 4, choice);
  const std::string file = TempPath("dense_alone"), folder = TempPath("dense_of_ranks");
  std::filesystem::remove_all(folder);
  ExpectNear(CurveOfRanks(config, 4, plan, folder), CurveOf(config, {}, file), 1e-4);
  const std::vector<NamedTensor> alone = TensorsOf(file), ranks = TensorsOf(folder);
  ASSERT_EQ(ranks.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    ASSERT_EQ(ranks[i].name, alone[i].name);
    ASSERT_EQ(ranks[i].tensor.shape(), alone[i].tensor.shape()) << alone[i].name;
    if (alone[i].tensor.dtype() != DType::kF32) continue;
    for (int64_t e = 0; e < alone[i].tensor.numel(); ++e)
      ASSERT_NEAR(ranks[i].tensor.data<float>()[e], alone[i].tensor.data<float>()[e], 2e-3)
          << alone[i].name;
  }
}

// A run goes on from one process to ranks, to ranks under another plan, and back.
TEST_P(DenseTablesOnRanks, GoOnUnderAnyPlan) {
  const auto& [dense, choice] = GetParam();
  TrainConfig config = DenseTables(dense);
  config.epochs = 3;
  const RunCurve whole = CurveOf(config);
  config.epochs = 1;
  const std::string file = TempPath("dense_first"), folder = TempPath("dense_second");
  std::filesystem::remove_all(folder);
  std::vector<double> losses = CurveOf(config, {}, file).losses;
  const auto add = [&](const std::vector<double>& more) {
    losses.insert(losses.end(), more.begin(), more.end());
  };
  const auto go_on = [&](Communicator& comm, const ShardingPlan& plan, const std::string& from,
                         int64_t epochs) {
    TrainConfig longer = config;
    longer.epochs = epochs;
    Context ctx({.threads = 1, .seed = 77});
    Trainer trainer(ctx, longer, TrainingRanks{&comm, plan, {}});
    ASSERT_TRUE(trainer.Load(ReadCheckpoint(from)));
    std::vector<double> mine;
    TrainingRunOptions options{.checkpoint = folder};
    options.on_step = [&](const StepReport& step) { mine.push_back(step.loss); };
    RunTraining(trainer, DataSets(longer, {}), options);
    if (comm.rank() == 0) add(mine);
  };
  const ShardingPlan plan = choice == "mixed" ? MixedPlan(config, 4) : PlanFor(config, 4, choice);
  RunLocalRanks(4, [&](Communicator& comm) { go_on(comm, plan, file, 2); });
  RunLocalRanks(
      2, [&](Communicator& comm) { go_on(comm, PlanFor(config, 2, "column_wise"), folder, 3); });
  ASSERT_EQ(losses.size(), whole.losses.size());
  for (size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], whole.losses[i], 2e-4 * whole.losses[i]) << i;
  Context ctx({.threads = 1});
  Trainer back(ctx, config);
  EXPECT_TRUE(back.Load(ReadCheckpoint(folder)));
  EXPECT_EQ(back.progress().step, std::ssize(losses));
}

TEST(RanksPlan, LargeTablesGoByRowsTheOthersWhereThereIsRoom) {
  const std::vector<TableShape> tables = {
      {"large", 100, 8}, {"x", 30, 8}, {"y", 20, 8}, {"z", 15, 8}};
  const ShardingPlan plan = MakeRanksPlan("", {2, 2}, tables);
  EXPECT_EQ(plan.tables.at("large").type, ShardingType::kRowWise);
  const auto rank_of = [&](const char* name) {
    EXPECT_EQ(plan.tables.at(name).type, ShardingType::kTableWise);
    return plan.tables.at(name).shards[0].rank;
  };
  EXPECT_EQ(rank_of("x"), 0);
  EXPECT_EQ(rank_of("y"), 1);
  EXPECT_EQ(rank_of("z"), 1);
}

}  // namespace
}  // namespace tessera
