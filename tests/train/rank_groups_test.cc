// Trainings of ranks in sharding groups, beside those of the same ranks without.
#include "train/groups/rank_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "comm/local_communicator.h"
#include "tests/testing/error_of.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/model_configs.h"
#include "tests/train/testing/ranks_run.h"

namespace tessera {
namespace {

using testing::ConfigOf;
using testing::CurveOf;
using testing::CurveOfRanks;
using testing::ErrorOf;
using testing::ExpectNear;
using testing::Exported;
using ::testing::HasSubstr;
using testing::MixedPlan;
using testing::PlanFor;
using testing::ReadFile;
using testing::RunCurve;
using testing::SmallConfig;
using testing::TempPath;

// Ranks in groups, of which each has the plan's number of ranks.
struct Groups {
  ShardingPlan plan;
  int ranks = 4;
  int64_t interval = 1;
};

TrainingRanks RanksOf(const Groups& groups, Communicator& comm) {
  TrainingRanks ranks{&comm, groups.plan};
  ranks.groups = std::make_shared<TwoDimensionalGroups>(
      MakeTwoDimensionalGroups(comm, groups.plan.world_size));
  ranks.sync_interval = groups.interval;
  return ranks;
}

// Calls fn on every rank with a trainer.
void OnTrainers(const TrainConfig& config, const Groups& groups,
                const std::function<void(Trainer&)>& fn) {
  RunLocalRanks(groups.ranks, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = config.seed});
    Trainer trainer(ctx, config, RanksOf(groups, comm));
    fn(trainer);
  });
}

RunCurve CurveOfGroups(const TrainConfig& config, const Groups& groups,
                       const std::string& folder = "", const std::string& from = "") {
  RunCurve curve;
  RunLocalRanks(groups.ranks, [&](Communicator& comm) {
    RunCurve mine = CurveOf(config, RanksOf(groups, comm), folder, from);
    if (comm.rank() == 0) curve = std::move(mine);
  });
  return curve;
}

TrainConfig Linear(TrainConfig config = SmallConfig()) {
  for (EmbeddingBagConfig& table : config.tables) table.optimizer = Sgd{.lr = 0.1f};
  return config;
}

std::string BytesOf(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.nbytes())};
}

// The rows and states that this rank has.
std::string TablesOf(Trainer& trainer) {
  const ShardedTables& tables = trainer.model().sharded()->tables();
  tables.Flush(trainer.context());
  std::string bytes;
  for (const HeldShard& held : tables.shards()) {
    bytes += BytesOf(held.tables->weight(held.index));
    for (const OptimizerState& state : held.tables->optimizer_states(held.index))
      bytes += BytesOf(state.tensor);
  }
  return bytes;
}

// How many different tables the copies of this rank's are.
size_t DistinctCopies(Trainer& trainer) {
  const auto all =
      trainer.ranks()->groups->replicas->GatherStringsSync(TablesOf(trainer), "copies");
  return std::set(all.begin(), all.end()).size();
}

TEST(RankGroups, OneGroupGivesTheBitsOfNone) {
  const TrainConfig config = SmallConfig();
  const ShardingPlan plan = MixedPlan(config, 4);
  const RunCurve none = CurveOfRanks(config, 4, plan, TempPath("no_groups"));
  const RunCurve one = CurveOfGroups(config, {.plan = plan, .interval = 3}, TempPath("one_group"));
  EXPECT_EQ(one.losses, none.losses);
  EXPECT_TRUE(ReadFile(Exported(TempPath("one_group"))) ==
              ReadFile(Exported(TempPath("no_groups"))));
}

class LinearRuleInGroups : public ::testing::TestWithParam<std::tuple<int, int, std::string>> {};

// 1,000 rows in batches of 64, in parts that are not all equal.
TEST_P(LinearRuleInGroups, FollowsTheRunWithoutGroups) {
  const auto& [ranks, size, choice] = GetParam();
  TrainConfig config = Linear();
  config.gradient_clipping = {.mode = GradientClipping::kNorm, .max_gradient = 0.05};
  config.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 6, .value = 0.1}};
  const ShardingPlan plan =
      choice == "mixed" ? MixedPlan(config, size) : PlanFor(config, size, choice);
  ExpectNear(CurveOfGroups(config, {.plan = plan, .ranks = ranks}), CurveOf(config), 1e-5);
}
INSTANTIATE_TEST_SUITE_P(All, LinearRuleInGroups,
                         ::testing::Combine(::testing::Values(6, 12), ::testing::Values(1, 2, 3),
                                            ::testing::Values("mixed", "row_wise",
                                                              "data_parallel")));

TEST(RankGroups, LinearRuleFollowsInPartsOfABatch) {
  TrainConfig config = Linear();
  config.batch_size = 512;
  config.accumulate_steps = 2;
  const Groups groups{.plan = MixedPlan(config, 2)};
  ExpectNear(CurveOfGroups(config, groups), CurveOf(config), 1e-5);
}

// The candidates of a batch are those of all groups.
TEST(RankGroups, TowersFollow) {
  const TrainConfig config = Linear(ConfigOf(RankingModelType::kTwoTower));
  const Groups groups{.plan = PlanFor(config, 2, "row_wise")};
  const RunCurve curve = CurveOfGroups(config, groups), expected = CurveOf(config);
  ASSERT_EQ(curve.losses.size(), expected.losses.size());
  for (size_t i = 0; i < curve.losses.size(); ++i)
    EXPECT_NEAR(curve.losses[i], expected.losses[i], 1e-4) << i;
}

TEST(RankGroups, TablesAreOneAfterEachInterval) {
  const TrainConfig config = SmallConfig();
  OnTrainers(config, {.plan = MixedPlan(config, 2), .interval = 3}, [&](Trainer& trainer) {
    const DataSets data(config, {});
    const auto source = data.OpenTrain(0, 0, trainer.comm()->rank(), trainer.comm()->size());
    for (int step = 1; step <= 7; ++step) {
      trainer.Step(*source->Next());
      EXPECT_EQ(DistinctCopies(trainer), step % 3 == 0 ? 1u : 2u) << step;
    }
    EXPECT_EQ(trainer.averages(), 2);
    trainer.AverageGroups();
    EXPECT_EQ(DistinctCopies(trainer), 1u);
    trainer.AverageGroups();
    EXPECT_EQ(trainer.averages(), 3);
  });
}

// Whatever a run does last, its tables are those that it has saved and evaluated.
TEST(RankGroups, WhatIsSavedAndEvaluatedIsOneModel) {
  const TrainConfig config = SmallConfig();
  const Groups groups{.plan = MixedPlan(config, 2), .ranks = 6, .interval = 1000};
  const std::string folder = TempPath("saved_groups");
  MetricValues evaluated;
  OnTrainers(config, groups, [&](Trainer& trainer) {
    const TrainingRunReport report =
        RunTraining(trainer, DataSets(config, {}), {.checkpoint = folder});
    EXPECT_EQ(DistinctCopies(trainer), 1u);
    ASSERT_TRUE(report.groups);
    EXPECT_EQ(report.groups->groups, 3);
    EXPECT_EQ(report.groups->ranks_of_each, 2);
    EXPECT_EQ(report.groups->averages, 2);  // for the saves after two epochs
    if (IsLeader(*trainer.comm())) evaluated = *report.evaluation;
    const std::string tables = TablesOf(trainer);
    ShardedCheckpoint saved(folder);
    EXPECT_EQ(saved.info().plan, groups.plan);
    trainer.Load(saved);
    EXPECT_TRUE(TablesOf(trainer) == tables);
  });
  Context ctx({.threads = 1, .seed = 9});
  Trainer alone(ctx, config);
  ASSERT_TRUE(alone.Load(ReadCheckpoint(folder)));
  const auto rows = DataSets(config, {}).OpenEval(0);
  const EvaluationValues values = alone.Evaluate(*rows);
  EXPECT_NEAR(values.log_loss, evaluated.log_loss, 1e-6);
  EXPECT_EQ(values.examples, evaluated.examples);
}

TEST(RankGroups, AnEvaluationIsOfTheMean) {
  const TrainConfig config = SmallConfig();
  OnTrainers(config, {.plan = MixedPlan(config, 2), .interval = 1000}, [&](Trainer& trainer) {
    const DataSets data(config, {});
    const int rank = trainer.comm()->rank();
    trainer.Step(*data.OpenTrain(0, 0, rank, 4)->Next());
    EXPECT_EQ(DistinctCopies(trainer), 2u);
    trainer.Evaluate(*data.OpenEval(rank));
    EXPECT_EQ(DistinctCopies(trainer), 1u);
    trainer.Step(*data.OpenTrain(0, 0, rank, 4)->Next());
    trainer.Predict(*data.OpenEval(rank)->Next());
    EXPECT_EQ(DistinctCopies(trainer), 1u);
  });
}

TEST(RankGroups, GoOnWhereTheyStopped) {
  TrainConfig config = SmallConfig();
  const Groups groups{.plan = MixedPlan(config, 2), .interval = 5};
  const RunCurve whole = CurveOfGroups(config, groups, TempPath("whole_groups"));
  config.epochs = 1;
  CurveOfGroups(config, groups, TempPath("half_groups"));
  config.epochs = 2;
  const RunCurve rest =
      CurveOfGroups(config, groups, TempPath("rest_groups"), TempPath("half_groups"));
  EXPECT_TRUE(ReadFile(Exported(TempPath("rest_groups"))) ==
              ReadFile(Exported(TempPath("whole_groups"))));
  // In other groups, in none, and in one process: all see the same model first.
  const auto first_is_near = [&](const RunCurve& curve) {
    ASSERT_EQ(curve.losses.size(), rest.losses.size());
    EXPECT_NEAR(curve.losses[0], rest.losses[0], 1e-5);
  };
  const std::string half = TempPath("half_groups");
  first_is_near(
      CurveOfGroups(config, {.plan = PlanFor(config, 3, "row_wise"), .ranks = 6}, "", half));
  first_is_near(CurveOfGroups(config, {.plan = PlanFor(config, 3, ""), .ranks = 3}, "", half));
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer alone(ctx, config);
  ASSERT_TRUE(alone.Load(ReadCheckpoint(half)));
  RunCurve curve;
  TrainingRunOptions options;
  options.on_step = [&](const StepReport& step) { curve.losses.push_back(step.loss); };
  RunTraining(alone, DataSets(config, {}), options);
  first_is_near(curve);
}

// A cache of rows, and ids that travel ahead, change no bit.
TEST(RankGroups, CachesAndPipelinesGiveTheSameBits) {
  TrainConfig config = SmallConfig();
  const auto run = [&](const std::string& name, PipelineKind kind) {
    OnTrainers(config, {.plan = MixedPlan(config, 2), .interval = 2}, [&](Trainer& trainer) {
      RunTraining(trainer, DataSets(config, {}), {.checkpoint = TempPath(name), .pipeline = kind});
    });
    return ReadFile(Exported(TempPath(name)));
  };
  const std::string plain = run("plain_groups", PipelineKind::kNone);
  EXPECT_TRUE(run("ahead_groups", PipelineKind::kSparseDist) == plain);
  EXPECT_TRUE(run("base_groups", PipelineKind::kBase) == plain);
  config.tables[0].location = config.tables[1].location = EmbeddingLocation::kManagedCaching;
  config.tables[0].cache = config.tables[1].cache = {.load_factor = 0.9};
  OnTrainers(config, {.plan = MixedPlan(config, 2), .interval = 2}, [&](Trainer& trainer) {
    RunTraining(trainer, DataSets(config, {}), {.checkpoint = TempPath("cached_groups")});
  });
  const Checkpoint cached = ReadCheckpoint(TempPath("cached_groups")),
                   expected = ReadCheckpoint(TempPath("plain_groups"));
  Context ctx({.threads = 1});
  ASSERT_EQ(cached.tensors.size(), expected.tensors.size());
  for (size_t i = 0; i < cached.tensors.size(); ++i)
    EXPECT_TRUE(
        SameBits(cached.Read(ctx, cached.tensors[i]), expected.Read(ctx, expected.tensors[i])))
        << cached.tensors[i].name;
}

TEST(RankGroups, RowsOf16BitsAreAveragedToo) {
  TrainConfig config = SmallConfig();
  for (EmbeddingBagConfig& table : config.tables) {
    table.data_type = DType::kBF16;
    table.state_type = DType::kF16;
  }
  OnTrainers(config, {.plan = MixedPlan(config, 2), .interval = 4}, [&](Trainer& trainer) {
    EXPECT_TRUE(RunTraining(trainer, DataSets(config, {})).evaluation);
    EXPECT_EQ(DistinctCopies(trainer), 1u);
  });
}

// The first group alone writes; the others learn what it could not do.
TEST(RankGroups, ASaveThatFailsFailsOnAllRanks) {
  const TrainConfig config = SmallConfig();
  const std::string path = testing::WriteFile("no_folder", "a file");
  OnTrainers(config, {.plan = MixedPlan(config, 2)}, [&](Trainer& trainer) {
    const std::string error = ErrorOf([&] { trainer.Save(path); });
    EXPECT_THAT(error, HasSubstr("the first sharding group on rank 0: "));
    EXPECT_THAT(error, HasSubstr("no_folder"));
  });
}

std::string Refused(const std::function<void(TrainConfig&)>& change) {
  TrainConfig config = SmallConfig();
  change(config);
  const std::string error = ErrorOf([&] { CheckGroupTables(config); });
  EXPECT_THAT(error, HasSubstr("--sharding-group-size beside "));
  return error;
}

TEST(RankGroups, TablesWithoutAMeanAreRefused) {
  CheckGroupTables(SmallConfig());
  EXPECT_THAT(Refused([](TrainConfig& c) { c.tables[1].optimizer = CounterRowwiseAdagrad{}; }),
              HasSubstr("the optimizer counter_rowwise_adagrad of table b: each group counts its "
                        "own batches (prev_iter)"));
  EXPECT_THAT(Refused([](TrainConfig& c) { c.tables[1].optimizer = RowwiseRmspropAr{}; }),
              HasSubstr("rowwise_rmsprop_ar"));
  EXPECT_THAT(
      Refused([](TrainConfig& c) {
        c.tables[0].optimizer = Adam{.use_rowwise_bias_correction = true};
      }),
      HasSubstr("the optimizer adam of table a: each group counts its own batches (row_counter)"));
  EXPECT_THAT(Refused([](TrainConfig& c) { c.tables[0].optimizer = Dense{}; }),
              HasSubstr("the optimizer dense of table a"));
  EXPECT_THAT(Refused([](TrainConfig& c) { c.tables[2].stochastic_rounding = true; }),
              HasSubstr("stochastic_rounding of table c"));
  EXPECT_THAT(Refused([](TrainConfig& c) { c.tables[2].location = EmbeddingLocation::kDisk; }),
              HasSubstr("table c on a disk"));
  EXPECT_THAT(Refused([](TrainConfig& c) { c.managed_collision["b"] = {}; }),
              HasSubstr("managed_collision of table b"));
  ShardingPlan plan = PlanFor(SmallConfig(), 2, "row_wise");
  plan.tables["a"].kernel = ComputeKernel::kKeyValue;
  EXPECT_THAT(ErrorOf([&] { CheckGroupTables(SmallConfig(), &plan); }),
              HasSubstr("table a on a disk (location DISK, or key_value in a plan)"));
}

// A program that asks for it without the command is told so, too.
TEST(RankGroups, TrainersRefuseWhatTheCommandDoes) {
  TrainConfig config = SmallConfig();
  const Groups groups{.plan = PlanFor(config, 2, "row_wise")};
  const auto error_of = [&](const TrainingRunOptions& options) {
    return ErrorOf([&] {
      OnTrainers(config, groups,
                 [&](Trainer& trainer) { RunTraining(trainer, DataSets(config, {}), options); });
    });
  };
  for (const PipelineKind kind : {PipelineKind::kPrefetch, PipelineKind::kSemiSync})
    EXPECT_THAT(error_of({.pipeline = kind}),
                HasSubstr(Format("--sharding-group-size beside --pipeline {}", ToString(kind))));
  EXPECT_THAT(error_of({.checkpoint = TempPath("chain"), .incremental = IncrementalOptions{}}),
              HasSubstr("incremental checkpoints of ranks in sharding groups"));
  config.tables[0].optimizer = CounterRowwiseAdagrad{};
  EXPECT_THAT(error_of({}), HasSubstr("counter_rowwise_adagrad of table a"));
}

TEST(RankGroups, NodesOfAGroup) {
  const auto local = [](int ranks, int per_node, int size) {
    const std::optional<RankLayout> layout = LayoutOfGroup({ranks, per_node}, size);
    return layout ? layout->local_size : 0;
  };
  EXPECT_EQ(local(16, 8, 8), 4);  // two groups take turns in a node
  EXPECT_EQ(local(16, 16, 4), 4);
  EXPECT_EQ(local(16, 4, 4), 1);
  EXPECT_EQ(local(16, 2, 4), 1);
  EXPECT_EQ(local(12, 3, 6), 0);
  EXPECT_THAT(ErrorOf([] { CheckGroupSize(8, 3); }),
              HasSubstr("--sharding-group-size 3: the 8 ranks (--ranks, or those of mpirun) do "
                        "not fill groups of 3; expected a divisor"));
}

}  // namespace
}  // namespace tessera
