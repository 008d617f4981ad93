// Sharded = unsharded: every type of sharding against one TableBatchedEmbedding that is fed with
// the bags of all ranks in the order of the ranks.
#include "sharding/sharded_tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "comm/local_communicator.h"
#include "tests/sharding/testing/sharded_runs.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using namespace testing;  // NOLINT: the case and its runs

void ExpectSame(const Tensor& got, const Tensor& expected, bool exact, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  if (exact) {
    EXPECT_TRUE(SameBits(got, expected)) << what;
    return;
  }
  Context cpu({.threads = 1});
  const Tensor a = got.To(cpu, DType::kF32), b = expected.To(cpu, DType::kF32);
  for (int64_t i = 0; i < a.numel(); ++i) {
    const float x = a.data<float>()[i], y = b.data<float>()[i];
    ASSERT_NEAR(x, y, 2e-5f * std::abs(y) + 5e-6f) << what << ", element " << i;
  }
}

bool SplitsRows(const ShardingPlan& plan) {
  for (const auto& [name, sharding] : plan.tables)
    for (const Shard& s : sharding.shards)
      for (const TestTable& t : Tables())
        if (t.name == name && s.rows != t.rows) return true;
  return false;
}

class ShardedTablesTest : public testing::DeviceTest {
 protected:
  void Compare(const Combination& c) {
    SCOPED_TRACE(c.Name());
    const ShardingPlan plan = PlanOf(c);
    std::mt19937 random(static_cast<unsigned>(c.type * 1000 + c.world * 10 + c.rule));
    const Steps steps = DrawSteps(random, c);
    const Result expected = RunWhole(ctx(), c, plan, steps);
    const Result got = RunSharded(device(), c, plan, steps);
    const bool split = SplitsRows(plan);
    for (size_t s = 0; s < kSteps; ++s) {
      ASSERT_EQ(got.outputs[s].size(), expected.outputs[s].size());
      for (size_t o = 0; o < got.outputs[s].size(); ++o)
        ExpectSame(got.outputs[s][o], expected.outputs[s][o],
                   !split || c.pooling == PoolingType::kNone, Format("output {} of step {}", o, s));
      if (c.weighted)
        ExpectSame(got.weight_grads[s], expected.weight_grads[s], false, "gradients of weights");
    }
    // A MEAN that is split over rows applies 1/L to the gradient before the weight.
    const bool exact = !(split && c.weighted && c.pooling == PoolingType::kMean);
    ASSERT_EQ(got.tables.size(), expected.tables.size());
    for (const auto& [name, tensor] : expected.tables)
      ExpectSame(got.tables.at(name), tensor, exact, name);
    if (plan.local_size == 1 || plan.local_size == plan.world_size) return;
    CompareRoutes(c, plan, steps);
    if (c.pooling == PoolingType::kNone) CompareDedup(c, plan, steps);
  }

  // Gradients whose sums have no rounding give the same bits however often ids travel.
  void CompareDedup(const Combination& c, const ShardingPlan& plan, Steps steps) {
    for (auto& of_step : steps.grads)
      for (auto& of_rank : of_step)
        for (const Tensor& grad : of_rank)
          for (float& x : grad.span<float>()) x = std::round(x * 64) / 64;
    const Result each = RunSharded(device(), c, plan, steps);
    for (const IdDedup dedup : {IdDedup::kRank, IdDedup::kNode}) {
      SCOPED_TRACE(ToString(dedup));
      const Result once = RunSharded(device(), c, plan, steps, {.dedup_ids = dedup});
      for (size_t s = 0; s < kSteps; ++s)
        for (size_t o = 0; o < each.outputs[s].size(); ++o)
          ExpectSame(once.outputs[s][o], each.outputs[s][o], true, "output of distinct ids");
      for (const auto& [name, tensor] : each.tables)
        ExpectSame(once.tables.at(name), tensor, true, name + " of distinct ids");
    }
  }

  // Rows that return by node have the bits of rows that return directly.
  void CompareRoutes(const Combination& c, const ShardingPlan& plan, const Steps& steps) {
    const Result direct = RunSharded(device(), c, plan, steps, {.route = OutputRoute::kDirect});
    const Result by_node = RunSharded(device(), c, plan, steps, {.route = OutputRoute::kByNode});
    for (size_t s = 0; s < kSteps; ++s) {
      for (size_t o = 0; o < direct.outputs[s].size(); ++o)
        ExpectSame(by_node.outputs[s][o], direct.outputs[s][o], true, "output by node");
      if (c.weighted)
        ExpectSame(by_node.weight_grads[s], direct.weight_grads[s], true, "weights by node");
    }
    for (const auto& [name, tensor] : direct.tables)
      ExpectSame(by_node.tables.at(name), tensor, true, name + " by node");
  }
};

TEST_P(ShardedTablesTest, EqualsOneTable) {
  const bool all = on_cpu() || std::getenv("TESSERA_TEST_ALL") != nullptr;
  std::mt19937 chance(11);
  int tried = 0, left_out = 0;
  for (const int world : {1, 2, 3, 4, 8})
    for (int type = 0; type <= kMixed; ++type)
      for (int rule = 0; rule < kRules; ++rule)
        for (const PoolingType pooling :
             {PoolingType::kSum, PoolingType::kMean, PoolingType::kNone})
          for (const bool weighted : {false, true})
            for (const bool variable : {false, true}) {
              if (pooling == PoolingType::kNone && (weighted || variable)) continue;
              if (rule == kCounterRule && pooling != PoolingType::kSum) continue;
              if (!all && chance() % 20 != 0) {
                ++left_out;
                continue;
              }
              ASSERT_NO_FATAL_FAILURE(Compare({type, pooling, weighted, variable, rule, world}));
              ++tried;
            }
  std::printf("%d combinations tried, %d left out (tools/test --all tries them)\n", tried,
              left_out);
}

TEST_P(ShardedTablesTest, CodecsChangeWhatTravelsAndNothingElse) {
  // bf16 halves the bytes: a rank gets rounded rows, and tables get rounded gradients.
  const Combination c{.type = static_cast<int>(ShardingType::kTableWise), .world = 2};
  std::vector<BaseEmbeddingConfig> configs;
  for (const TestTable& t : Tables()) configs.push_back(ConfigOf(c, t));
  const std::vector<PoolingType> poolings(configs.size(), PoolingType::kSum);
  std::mt19937 random(3);
  std::vector<RankBatch> batches;
  std::vector<std::vector<Tensor>> grads;
  for (int r = 0; r < 2; ++r) {
    batches.push_back(DrawBatch(random, c));
    batches.back().examples = 0;
    while (batches.back().examples == 0) batches.back() = DrawBatch(random, c);
    grads.push_back(DrawGradients(random, c, batches.back()));
  }
  for (const char* codec : {"fp32", "fp16*8", "bf16", "fp8_rows", "int8", "mx4"}) {
    SCOPED_TRACE(codec);
    RunLocalRanks(c.world, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 9});
      const auto rank = static_cast<size_t>(comm.rank());
      Context same({.device = device(), .threads = 1, .seed = 9});
      ShardedTables plain(same, comm, configs, poolings, Features(), PlanOf(c));
      same.Sync();  // before another stream reads the rows
      ShardedTables tables(own, comm, configs, poolings, Features(), PlanOf(c),
                           {.sharding = {.codecs = ParseWireCodecs(codec)}});
      const KeyedJaggedTensor kjt = KjtOf(own, c, batches, rank, rank + 1);
      const int64_t sent = comm.bytes_sent();
      const Tensor exact = plain.Forward(own, kjt)[0].value().ToHost();
      const int64_t whole = comm.bytes_sent() - sent;
      Tape tape(own);
      const std::vector<Variable> out = tables.Forward(own, kjt);
      const int64_t coded = comm.bytes_sent() - sent - whole;
      if (std::string(codec) == "fp32")
        EXPECT_EQ(coded, whole);
      else
        EXPECT_LT(coded, whole);
      const Tensor got = out[0].value().ToHost();
      float largest = 0;
      for (const float x : exact.span<float>()) largest = std::max(largest, std::abs(x));
      for (int64_t i = 0; i < got.numel(); ++i)
        ASSERT_NEAR(got.data<float>()[i], exact.data<float>()[i], 0.3f * largest);
      EXPECT_EQ(SameBits(got, exact), std::string(codec) == "fp32");
      BackwardAll(own, tape, out, grads[rank]);
      own.Sync();
    });
  }
}

TEST_P(ShardedTablesTest, DifferentPlansAreNamed) {
  std::vector<BaseEmbeddingConfig> configs;
  for (const TestTable& t : Tables()) configs.push_back(ConfigOf({}, t));
  try {
    RunLocalRanks(2, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1});
      const Combination c{.type = comm.rank() == 0 ? 1 : 3, .world = 2};
      ShardedTables tables(own, comm, configs,
                           std::vector<PoolingType>(configs.size(), PoolingType::kSum), Features(),
                           PlanOf(c));
    });
    FAIL() << "expected an error";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("the sharding plan: not the same on all ranks: rank 0 has \"table "),
              std::string::npos)
        << what;
  }
}

TEST_P(ShardedTablesTest, DifferentSettingsAreNamed) {
  struct Difference {
    std::function<void(BaseEmbeddingConfig&, ShardedTablesOptions&)> make;
    std::string named;
  };
  const std::vector<Difference> differences = {
      {[](auto& table, auto&) { table.optimizer = Sgd{.lr = 0.25f}; },
       "rank 0 has \"table t0: lr 0.125\", rank 1 has \"table t0: lr 0.25\""},
      {[](auto& table, auto&) { table.data_type = DType::kF16; }, "table t0: data_type f16"},
      {[](auto&, auto& options) { options.sharding.gradient_division = false; },
       "\"gradient_division true\", rank 1 has \"gradient_division false\""},
  };
  for (const Difference& difference : differences) {
    try {
      RunLocalRanks(2, [&](Communicator& comm) {
        Context own({.device = device(), .threads = 1});
        std::vector<BaseEmbeddingConfig> configs;
        for (const TestTable& t : Tables()) configs.push_back(ConfigOf({}, t));
        configs[0].optimizer = Sgd{.lr = 0.125f};
        ShardedTablesOptions options;
        if (comm.rank() == 1) difference.make(configs[0], options);
        const std::vector<PoolingType> poolings(configs.size(), PoolingType::kSum);
        ShardedTables tables(own, comm, configs, poolings, Features(),
                             PlanOf({.type = 1, .world = 2}), options);
      });
      FAIL() << "expected an error with " << difference.named;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(difference.named), std::string::npos)
          << error.what();
    }
  }
}

TEST_P(ShardedTablesTest, RoundsByChanceAsOneTable) {
  for (const ShardingType type : {ShardingType::kRowWise, ShardingType::kColumnWise,
                                  ShardingType::kGridShard, ShardingType::kDataParallel}) {
    Combination c{.type = static_cast<int>(type), .rule = 2, .world = 4};
    c.row_type = DType::kBF16;
    ASSERT_NO_FATAL_FAILURE(Compare(c));
  }
}

TEST_P(ShardedTablesTest, StartsAsOneTable) {
  for (int type = 0; type < kTypes; ++type) {
    const Combination c{.type = type, .world = 4};
    std::vector<BaseEmbeddingConfig> configs;
    for (const TestTable& t : Tables()) configs.push_back(ConfigOf(c, t));
    configs[1].init_fn = [](Context& ctx, const Tensor& rows) { FillUniform(ctx, rows, 3, 4); };
    const std::vector<PoolingType> poolings(configs.size(), PoolingType::kSum);
    Context one({.device = device(), .seed = 9});
    const TableBatchedEmbedding whole(one, configs, poolings, Features());
    RunLocalRanks(c.world, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 9});
      const ShardedTables tables(own, comm, configs, poolings, Features(), PlanOf(c));
      for (const HeldShard& held : tables.shards())
        for (int t = 0; t < whole.num_tables(); ++t)
          if (whole.table_name(t) == held.table) {
            const Shard& s = held.shard;
            const Tensor part = whole.weight(t)
                                    .ToHost()
                                    .Rows(s.row_offset, s.row_offset + s.rows)
                                    .Narrow(1, s.column_offset, s.columns);
            Context cpu({.threads = 1});
            EXPECT_TRUE(SameBits(held.tables->weight(held.index).ToHost(), part.Contiguous(cpu)))
                << held.table << " " << ToString(s);
          }
    });
  }
}

TEST_P(ShardedTablesTest, BadIdIsNamedAndEveryRankEnds) {
  const Combination c{.type = static_cast<int>(ShardingType::kRowWise), .world = 3};
  std::vector<BaseEmbeddingConfig> configs;
  for (const TestTable& t : Tables()) configs.push_back(ConfigOf(c, t));
  try {
    RunLocalRanks(c.world, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1});
      ShardedTables tables(own, comm, configs,
                           std::vector<PoolingType>(configs.size(), PoolingType::kSum), Features(),
                           PlanOf(c));
      std::mt19937 random(1);
      RankBatch batch = DrawBatch(random, c);
      batch.examples = 1;
      for (auto& [key, bags] : batch.keys) {
        bags.bags = {{0}};
        bags.weights = {{1}};
      }
      if (comm.rank() == 1) batch.keys["c"].bags = {{77}};
      tables.Forward(own, KjtOf(own, c, {batch}, 0, 1));
    });
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("77"), std::string::npos) << error.what();
  }
}

TESSERA_INSTANTIATE_DEVICES(ShardedTablesTest);

}  // namespace
}  // namespace tessera
