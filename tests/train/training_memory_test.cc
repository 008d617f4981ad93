#include "train/training_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/ranking_net.h"
#include "models/ranking_net_size.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

constexpr double kGiB = 1073741824.0;

// Four tables of 10 GiB.
TrainConfig Large() {
  TrainConfig config;
  config.model.dense_arch = {64, 64};
  config.model.over_arch = {64, 1};
  for (int t = 0; t < 4; ++t) {
    EmbeddingBagConfig table;
    table.name = Format("t{}", t);
    table.num_embeddings = 10 << 22;
    table.embedding_dim = 64;
    table.feature_names = {Format("cat_{}", t)};
    table.optimizer = RowwiseAdagrad{};
    config.tables.push_back(table);
  }
  return config;
}

TEST(TrainingMemory, IsTheSumOfAllTablesAndStates) {
  const TrainingMemory memory = MemoryOfTraining(Large());
  EXPECT_EQ(memory.tables.size(), 4u);
  EXPECT_EQ(memory.tables[0].rows, 10 * kGiB);
  EXPECT_EQ(memory.tables[0].states, 10 * kGiB / 64);
  EXPECT_GT(memory.total(), 40 * kGiB * 65 / 64);
  EXPECT_LT(memory.total(), 41 * kGiB);
}

TEST(TrainingMemory, ADenseTableHasAGradientAndItsOptimizersStates) {
  TrainConfig config = Large();
  config.tables[0].optimizer = Dense{};
  const auto beside_rows = [&](const char* optimizer) {
    config.dense_optimizer.name = optimizer;
    return MemoryOfTraining(config).tables[0].states / kGiB;
  };
  EXPECT_EQ(beside_rows("sgd"), 10);
  EXPECT_EQ(beside_rows("adam"), 30);
  EXPECT_EQ(beside_rows("rowwise_adagrad"), 10 + 10 / 64.0);
}

TEST(TrainingMemory, WhatDoesNotFitIsSaidWithWhatWould) {
  CheckTrainingMemory(Large(), {}, {41 * kGiB, "here"});
  const std::string error = ErrorOf([] { CheckTrainingMemory(Large(), {}, {23 * kGiB, "here"}); });
  EXPECT_THAT(error, HasSubstr("the training takes about 40.6 GiB of memory: tables' rows 40.0 GiB "
                               "(t0 10.2 GiB, t1 10.2 GiB, t2 10.2 GiB, t3 10.2 GiB), optimizer "
                               "states 640.0 MiB"));
  EXPECT_THAT(error, HasSubstr("there are 23.0 GiB (here). What would fit: 56 % of the tables' "
                               "rows, rows of 16 bits (\"dtype\": \"bf16\", 20.6 GiB), tables on "
                               "disk (\"location\": \"DISK\", 9.4 GiB) or ranks on 2 such machines "
                               "(mpirun). --memory-limit SIZE sets another limit"));
}

// All tables by rows over four ranks.
ShardingPlan PlanOf(const TrainConfig& config) {
  ShardingPlan plan{.world_size = 4, .local_size = 2, .tables = {}};
  for (const EmbeddingBagConfig& t : config.tables) {
    TableSharding& sharding = plan.tables[t.name];
    sharding.type = ShardingType::kRowWise;
    for (int r = 0; r < 4; ++r)
      sharding.shards.push_back({.rank = r,
                                 .row_offset = r * t.num_embeddings / 4,
                                 .column_offset = 0,
                                 .rows = t.num_embeddings / 4,
                                 .columns = 64});
  }
  return plan;
}

TEST(TrainingMemory, RanksOfOneMachineCountTogether) {
  const TrainConfig config = Large();
  const ShardingPlan plan = PlanOf(config);
  const auto tables = [&](const TrainingPlace& place) {
    double bytes = 0;
    for (const TableMemory& t : MemoryOfTraining(config, place).tables) bytes += t.total();
    return bytes / kGiB;
  };
  EXPECT_EQ(tables({.plan = &plan, .ranks = {0, 1, 2, 3}}), 40.625);
  EXPECT_EQ(tables({.plan = &plan, .ranks = {2, 3}}), 20.3125);
  EXPECT_EQ(tables({.plan = &plan, .ranks = {1, 3}, .memory = MemoryOf::kGpu}), 20.3125);
  // Eight ranks in two sharding groups of the plan's four: two nodes of four, or all on one.
  EXPECT_EQ(tables({.plan = &plan, .ranks = {0, 0, 1, 1}, .groups = 2}), 40.625);
  EXPECT_EQ(tables({.plan = &plan, .ranks = {0, 0, 1, 1, 2, 2, 3, 3}, .groups = 2}), 81.25);
  EXPECT_EQ(MemoryOfTraining(config, {.plan = &plan, .ranks = {0, 0, 1, 1}, .groups = 2}).batch,
            MemoryOfTraining(config, {.plan = &plan, .ranks = {0, 1}}).batch);
  EXPECT_EQ(tables({.memory = MemoryOf::kHostOfGpus}), 0);
}

// The allocator gives large blocks as whole pages of 2 MiB: each rank's part is rounded up.
TEST(TrainingMemory, PartsTakeWholeHugePages) {
  TrainConfig config = Large();
  for (EmbeddingBagConfig& table : config.tables) table.num_embeddings = 40'000;  // 9.8 MiB
  const ShardingPlan plan = PlanOf(config);
  EXPECT_EQ(MemoryOfTraining(config).tables[0].rows, 10 << 20);
  const TrainingMemory ranks = MemoryOfTraining(config, {.plan = &plan, .ranks = {0, 1, 2, 3}});
  EXPECT_EQ(ranks.tables[0].rows, 4 * (4 << 20));  // of 2.4 MiB
  EXPECT_EQ(ranks.tables[0].states, 40'000 * 4);   // small ones are not
}

// Each block of a table's rows has parts of the pooled rows of all examples.
TEST(TrainingMemory, ABatchOfRanksCountsWhatTheyExchange) {
  TrainConfig config = Large();
  config.batch_size = 4096;
  ShardingPlan plan = PlanOf(config);
  const TrainingPlace place = {.plan = &plan, .ranks = {0, 1, 2, 3}};
  const double alone = MemoryOfTraining(config).batch,
               by_rows = MemoryOfTraining(config, place).batch;
  for (auto& [name, sharding] : plan.tables) sharding.shards.resize(1);
  const double whole = MemoryOfTraining(config, place).batch;
  EXPECT_EQ(by_rows - alone, 4 * (whole - alone));
  EXPECT_GE(whole - alone, 4096 * 4 * 64 * 4);
}

// A small batch is evaluated in larger ones.
TEST(TrainingMemory, AnEvaluationMayTakeMoreThanAStep) {
  TrainConfig config = Large();
  config.data.rows = 100'000;
  config.batch_size = 16;
  const double without = MemoryOfTraining(config).batch;
  config.data.eval_rows = 100'000;
  const double with = MemoryOfTraining(config).batch;
  EXPECT_GT(with, 10 * without);
  config.batch_size = 4096;
  const double large = MemoryOfTraining(config).batch;
  config.data.eval_rows = 0;
  EXPECT_EQ(MemoryOfTraining(config).batch, large);
}

// A growing table counts up to its cap, on ranks as in one process; none of its rows is filled
// before ids come.
TEST(TrainingMemory, GrowingTablesOfRanksCountUpToTheirCap) {
  TrainConfig config = Large();
  for (EmbeddingBagConfig& table : config.tables) table.data_type = DType::kBF16;
  const ShardingPlan plan = PlanOf(config);
  const TrainingPlace ranks = {.plan = &plan, .ranks = {0, 1, 2, 3}};
  EXPECT_EQ(MemoryOfTraining(config, ranks).making(), 10 * kGiB);
  for (const EmbeddingBagConfig& table : config.tables)
    config.managed_collision[table.name] = {GrowingIndexOptions{}, 4};
  const TrainingMemory memory = MemoryOfTraining(config, ranks);
  EXPECT_EQ(memory.making(), 0);
  for (auto& [name, raw_ids] : config.managed_collision) raw_ids.num_parts = 0;
  const TrainingMemory alone = MemoryOfTraining(config);
  EXPECT_EQ(memory.tables[0].total(), alone.tables[0].total());
  EXPECT_NEAR(memory.ids, alone.ids, 0.01 * alone.ids);
  // Where all rows are there from the start, they are filled.
  config.managed_collision["t0"] = {MchConfig{}, 4};
  EXPECT_EQ(MemoryOfTraining(config, ranks).making(), 10 * kGiB);
}

TEST(TrainingMemory, CachesOfRanksGrowAtOnceAndThoseOfTablesInTurn) {
  TrainConfig config = Large();
  const ShardingPlan plan = PlanOf(config);
  for (EmbeddingBagConfig& table : config.tables) {
    table.location = EmbeddingLocation::kManagedCaching;
    table.cache.load_factor = 0.5;
  }
  const auto growing = [&](const TrainingPlace& place) {
    return MemoryOfTraining(config, place).making();
  };
  EXPECT_EQ(growing({.plan = &plan, .ranks = {0, 1, 2, 3}}), 5 * kGiB);
  EXPECT_EQ(growing({.plan = &plan, .ranks = {2, 3}}), 2.5 * kGiB);
  EXPECT_EQ(growing({.plan = &plan, .ranks = {1, 3}, .memory = MemoryOf::kGpu}), 2.5 * kGiB);
}

// A table takes memory of the host or of the GPU; a cached one takes some of both.
TEST(TrainingMemory, AGpuHoldsTablesAtDeviceAndCaches) {
  TrainConfig config = Large();
  config.tables[1].location = EmbeddingLocation::kHost;
  config.tables[2].location = EmbeddingLocation::kManagedCaching;
  config.tables[2].cache.load_factor = 0.25;
  const TrainingMemory gpu = MemoryOfTraining(config, {.memory = MemoryOf::kGpu}),
                       host = MemoryOfTraining(config, {.memory = MemoryOf::kHostOfGpus});
  const double table = 10 * kGiB * 65 / 64;
  for (const int t : {0, 3}) {
    EXPECT_EQ(gpu.tables[static_cast<size_t>(t)].total(), table);
    EXPECT_EQ(host.tables[static_cast<size_t>(t)].total(), 0);
  }
  EXPECT_EQ(gpu.tables[1].total(), 0);
  EXPECT_EQ(host.tables[1].total(), table);
  EXPECT_EQ(gpu.tables[2].total(), table / 4 + (10 << 20) * 21.0) << "with the cache's index";
  EXPECT_EQ(host.tables[2].total(), table);
  EXPECT_GT(gpu.dense, 0);
  EXPECT_EQ(gpu.batch, 0);
}

TEST(TrainingMemory, WhatDoesNotFitOnAGpuIsSaidWithWhatWould) {
  const TrainingPlace gpu = {.memory = MemoryOf::kGpu};
  CheckTrainingMemory(Large(), gpu, {41 * kGiB, "here"});
  const std::string error = ErrorOf([&] {
    CheckTrainingMemory(Large(), gpu, {23 * kGiB, "free on cuda:0"});
  });
  EXPECT_THAT(error, HasSubstr("the training on a GPU takes about 40.6 GiB of memory: tables' rows "
                               "40.0 GiB (t0 10.2 GiB, t1 10.2 GiB, t2 10.2 GiB, t3 10.2 GiB), "
                               "optimizer states 640.0 MiB, the dense part"));
  EXPECT_THAT(error, HasSubstr("there are 23.0 GiB (free on cuda:0). What would fit: 56 % of the "
                               "tables' rows, rows of 16 bits (\"dtype\": \"bf16\", 20.6 GiB), "
                               "tables in host memory behind a cache (\"location\": "
                               "\"MANAGED_CACHING\", 10.8 GiB) or ranks on 2 such GPUs"));
}

TEST(TrainingMemory, NetsAreAsLargeAsTheyAreBuilt) {
  using Type = RankingModelType;
  const std::vector<RankingNetConfig> nets = {
      {.type = Type::kDlrm, .dense_in = 5, .dense_arch = {7, 4}, .over_arch = {6, 1}},
      {.type = Type::kDlrmDcn,
       .dense_in = 5,
       .dense_arch = {7, 4},
       .over_arch = {6, 1},
       .dcn_layers = 3,
       .dcn_low_rank = 2},
      {.type = Type::kDlrmProjection,
       .dense_in = 5,
       .dense_arch = {7, 4},
       .over_arch = {6, 1},
       .branch1 = {9, 8},
       .branch2 = {12}},
      {.type = Type::kDeepFm, .dense_in = 5, .hidden = 7, .deep_fm_dim = 3},
      {.type = Type::kDlrm, .over_arch = {6, 2}, .tasks = {{"a", "x"}, {"b", "y"}}},
      {.type = Type::kDeepFm, .deep_fm_dim = 3, .tasks = {{"a", "x"}, {"b", "y"}}},
      {.type = Type::kMmoe,
       .dense_in = 5,
       .dense_arch = {7, 3},
       .experts = 3,
       .expert_arch = {6, 5},
       .tower_arch = {4, 1},
       .tasks = {{"a", "x"}, {"b", "y"}}},
      {.type = Type::kPle,
       .experts = 2,
       .expert_arch = {6, 5},
       .tower_arch = {4, 1},
       .extraction_layers = 3,
       .task_experts = 2,
       .tasks = {{"a", "x"}, {"b", "y"}}},
      {.type = Type::kTwoTower, .query = {"x", "z"}, .candidate = {"y"}, .tower_layers = {6, 3}}};
  Context ctx({.threads = 1});
  for (const RankingNetConfig& config : nets) {
    double parameters = 0;
    const std::vector<PooledFeature> features = {{"x", 4}, {"y", 4}, {"z", 4}};
    for (const NamedParameter& p : MakeRankingNet(ctx, config, features)->Parameters())
      parameters += static_cast<double>(p.variable.value().numel());
    EXPECT_EQ(SizeOfRankingNet(config, features).parameters, parameters) << ToString(config.type);
    EXPECT_GT(SizeOfRankingNet(config, features).activations, 0);
  }
}

TEST(TrainingMemory, SizesBeyondAllNumbersAreStillSaid) {
  TrainConfig config = Large();
  for (EmbeddingBagConfig& table : config.tables) table.num_embeddings = int64_t{1} << 42;
  config.model.dense_arch = {1 << 20, 1 << 20, 64};
  config.batch_size = int64_t{1} << 32;
  EXPECT_THAT(ErrorOf([&] {
                CheckTrainingMemory(config, {}, {23 * kGiB, "here"});
              }),
              HasSubstr("a smaller model or batch"));
}

}  // namespace
}  // namespace tessera
