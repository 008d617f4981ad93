// The optimizer of sharded tables has the keys and states of the tables without shards, under any
// plan.
#include "sharding/sharded_fused_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "embedding/fused_optimizer.h"
#include "tests/sharding/testing/planned_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using testing::kPlannedRanks;
using testing::Make;
using testing::PlanCase;
using testing::PlannedTables;
using testing::Plans;

const std::vector<std::string> kKeys = {"embedding_bags.t0.weight", "embedding_bags.t1.weight",
                                        "embedding_bags.t2.weight"};

void ExpectSame(const OptimizerStateDict& a, const OptimizerStateDict& b, bool numbers_a_row) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [key, states] : a) {
    ASSERT_TRUE(b.contains(key)) << key;
    for (const auto& [name, tensor] : states) {
      if (tensor.rank() == 1 && !numbers_a_row) continue;
      EXPECT_TRUE(SameBits(tensor.ToHost(), b.at(key).at(name).ToHost())) << key << " " << name;
    }
  }
}

class ShardedFusedOptimizerTest : public testing::DeviceTest {
 protected:
  Context Own() const { return Context({.device = device(), .threads = 1, .seed = 8}); }
};

TEST_P(ShardedFusedOptimizerTest, StatesAreThoseOfWholeTablesAndLoadUnderAnyPlan) {
  for (const PlanCase& from : Plans())
    RunLocalRanks(kPlannedRanks, [&](Communicator& comm) {
      Context own = Own();
      ShardedTables whole = Make(own, comm, Plans()[0], PlannedTables()),
                    tables = Make(own, comm, from, PlannedTables());
      for (int64_t s = 0; s < 2; ++s) {
        testing::Step(own, whole, comm.rank(), s);
        testing::Step(own, tables, comm.rank(), s);
      }
      const ShardedFusedOptimizer optimizer(own, tables, "embedding_bags");
      const OptimizerStateDict state = optimizer.StateDict();
      EXPECT_EQ(optimizer.Keys(), kKeys);
      EXPECT_EQ(state.at(kKeys[0]).at("iter").ToVector<int64_t>()[0], 2);
      EXPECT_EQ(state.at(kKeys[0]).at("momentum1").shape(), (Shape{9, 24}));
      EXPECT_EQ(state.at(kKeys[1]).at("momentum1").shape(), Shape{13});
      // Column blocks have sums of squares of their own.
      ExpectSame(state, ShardedFusedOptimizer(own, whole, "embedding_bags").StateDict(),
                 /*numbers_a_row=*/false);
      for (const PlanCase& to : Plans()) {
        SCOPED_TRACE(Format("from {} to {}, rank {}", from.name, to.name, comm.rank()));
        ShardedTables loaded = Make(own, comm, to, PlannedTables());
        ShardedFusedOptimizer into(own, loaded, "embedding_bags");
        into.LoadStateDict(own, state);
        ExpectSame(into.StateDict(), state, /*numbers_a_row=*/true);
        EXPECT_EQ(loaded.iter(), 2);
      }
    });
}

TEST_P(ShardedFusedOptimizerTest, GoesIntoTablesWithoutShardsAndBack) {
  RunLocalRanks(kPlannedRanks, [&](Communicator& comm) {
    Context own = Own();
    ShardedTables tables = Make(own, comm, Plans()[3], PlannedTables());
    testing::Step(own, tables, comm.rank(), 0);
    ShardedFusedOptimizer sharded(own, tables);
    std::vector<EmbeddingFeature> features;
    for (const BaseEmbeddingConfig& t : PlannedTables())
      features.push_back(
          {t.feature_names[0], static_cast<int>(features.size()), t.feature_names[0]});
    TableBatchedEmbedding alone(own, PlannedTables(), std::vector(3, PoolingType::kSum), features);
    FusedOptimizer whole(alone);
    const OptimizerStateDict state = sharded.StateDict();
    whole.LoadStateDict(own, state);
    ExpectSame(whole.StateDict(), state, /*numbers_a_row=*/true);
    sharded.LoadStateDict(own, whole.StateDict());
    ExpectSame(sharded.StateDict(), state, /*numbers_a_row=*/true);
  });
}

TEST_P(ShardedFusedOptimizerTest, RatesAreKnownOnEveryRank) {
  RunLocalRanks(kPlannedRanks, [&](Communicator& comm) {
    Context own = Own();
    ShardedTables tables = Make(own, comm, Plans()[0], PlannedTables());  // one rank has all
    ShardedFusedOptimizer optimizer(own, tables);
    optimizer.SetGroupLearningRate(1, 0.5);
    EXPECT_EQ(optimizer.GroupLearningRate(1), 0.5);
    EXPECT_EQ(optimizer.ParamGroups()[1].options[0].second, 0.5);
    EXPECT_NEAR(optimizer.GroupLearningRate(0), 0.1, 1e-7);
    for (const HeldShard& held : tables.shards())
      EXPECT_NEAR(LearningRate(held.tables->rule(held.index)), held.table == "t1" ? 0.5 : 0.1,
                  1e-7);
    optimizer.SetLearningRate(0.25);
    EXPECT_EQ(optimizer.GroupLearningRate(2), 0.25);
    EXPECT_THROW(optimizer.SetGroupLearningRate(3, 1), Error);
  });
}

TEST_P(ShardedFusedOptimizerTest, WhatOneRankRefusesNoRankTakes) {
  RunLocalRanks(kPlannedRanks, [&](Communicator& comm) {
    Context own = Own();
    ShardedTables tables = Make(own, comm, Plans()[1], PlannedTables());
    ShardedFusedOptimizer optimizer(own, tables);
    testing::Step(own, tables, comm.rank(), 0);
    const OptimizerStateDict before = optimizer.StateDict();
    OptimizerStateDict other = before;
    for (auto& [key, states] : other)
      for (auto& [name, tensor] : states) tensor = tensor.Clone(own);
    if (comm.rank() == 2) other.erase("t1.weight");
    EXPECT_THAT([&] { optimizer.LoadStateDict(own, other); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr("t1.weight")));
    ExpectSame(optimizer.StateDict(), before, /*numbers_a_row=*/true);
  });
}

TESSERA_INSTANTIATE_DEVICES(ShardedFusedOptimizerTest);

}  // namespace
}  // namespace tessera
