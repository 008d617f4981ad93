// Training steps of tables in which the host never waits for the device: the emulator counts.
#include <gtest/gtest.h>

#include <numeric>

#include "embedding/managed_collision/growing_index.h"
#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "embedding/managed_collision/managed_collision_embedding.h"
#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/ops/arithmetic.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/rules.h"
#include "tools/emulation/emulation.h"

namespace tessera {
namespace {

using testing::Filled;
using testing::SmallTable;

class HostWaitsTest : public ::testing::Test {
 protected:
  using Options = TableBatchedEmbeddingOptions;
  // Three bags a key, of `ids` ids in all, made on the host.
  KeyedJaggedTensor Kjt(int64_t ids, bool weighted = false) {
    Context cpu;
    std::vector<int64_t> values;
    for (int64_t i = 0; i < 2 * ids; ++i) values.push_back(7 * i % 50);
    const std::vector<int64_t> lengths = {ids - 2, 1, 1, 0, 2, ids - 2};
    const Variable weights = weighted ? Variable(Tensor::Full(cpu, {2 * ids}, 0.5)) : Variable();
    return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(cpu, values),
                                              Tensor::From(cpu, lengths), weights)
        .To(ctx_, Device::Cuda());
  }
  BaseEmbeddingConfig Table(const std::string& name, const AnyRule& rule) {
    return Filled(SmallTable(name, 50, 8, rule), 0.5f);
  }
  TableBatchedEmbedding Tables(BaseEmbeddingConfig t, BaseEmbeddingConfig u, Options options = {},
                               PoolingType pooling = PoolingType::kMean) {
    if (options.bounds_check == BoundsCheckMode::kFatal)
      options.bounds_check = BoundsCheckMode::kWarning;
    return TableBatchedEmbedding(ctx_, {std::move(t), std::move(u)}, {PoolingType::kSum, pooling},
                                 {{"a", 0, "a"}, {"b", 1, "b"}}, options);
  }
  void Step(TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx_);
    const EmbeddingOutputs outputs = tables.ForwardAll(ctx_, kjt);
    Variable loss = Sum(ctx_, outputs.pooled);
    for (const Variable& rows : outputs.sequences) loss = Add(ctx_, loss, Sum(ctx_, rows));
    tape.Backward(loss);
  }
  // Waits in three steps, of which the later have larger batches.
  int64_t Waits(TableBatchedEmbedding tables, bool weighted = false) {
    int64_t waits = 0;
    for (const int64_t ids : {5, 40, 300}) {
      const KeyedJaggedTensor kjt = Kjt(ids, weighted);
      const int64_t before = cuda_emulation::Stats().syncs;
      Step(tables, kjt);
      waits += cuda_emulation::Stats().syncs - before;
    }
    return waits;
  }
  // Waits in a training forward of 50 raw ids, of which 20 are new in each step.
  int64_t WaitsOfStep(ManagedCollisionModule& module, int64_t step) {
    std::vector<int64_t> ids(50);
    std::iota(ids.begin(), ids.end(), 20 * step);
    const Tensor given = Tensor::From(ctx_, ids);
    const int64_t before = cuda_emulation::Stats().syncs;
    module.Forward(ctx_, {&given, 1}, /*training=*/true);
    return cuda_emulation::Stats().syncs - before;
  }

  // Too few slots for the ids of all steps, of which those of the last two are kept.
  static HashZchOptions HashZch(HashZchEviction eviction) {
    return {.zch_size = 100,
            .eviction = eviction,
            .single_ttl = eviction == HashZchEviction::kNone ? 0 : 1,
            .clock = HashZchClock::kForwards};
  }

  Context ctx_{{.device = Device::Cuda()}};
};

TEST_F(HostWaitsTest, NoneWithAnyRule) {
  for (const AnyRule& rule : testing::AllRules())
    EXPECT_EQ(Waits(Tables(Table("t", rule), Table("u", rule), {}, PoolingType::kSum)), 0)
        << RuleName(rule);
}

TEST_F(HostWaitsTest, NoneWithAnyOptionOfTables) {
  const AnyRule adam = Adam{0.1f};
  EXPECT_EQ(Waits(Tables(Table("t", adam), Table("u", adam), {}, PoolingType::kNone)), 0);
  EXPECT_EQ(Waits(Tables(Table("t", adam), Table("u", adam), {.weighted = true}), true), 0);
  EXPECT_EQ(Waits(Tables(Table("t", adam), Table("u", Dense{}))), 0);
  EXPECT_EQ(Waits(Tables(Table("t", adam), Table("u", adam), {.max_gradient = 1})), 0);
  for (const BoundsCheckMode mode : {BoundsCheckMode::kNone, BoundsCheckMode::kIgnore})
    EXPECT_EQ(Waits(Tables(Table("t", adam), Table("u", adam), {.bounds_check = mode})), 0);
  BaseEmbeddingConfig half = Table("t", adam);
  half.data_type = DType::kF16;
  half.stochastic_rounding = true;
  EXPECT_EQ(Waits(Tables(half, Table("u", adam))), 0);
}

TEST_F(HostWaitsTest, NoneWithTheCacheOfATableInHostMemory) {
  BaseEmbeddingConfig cached = Table("t", Adam{0.1f});
  cached.location = EmbeddingLocation::kManagedCaching;
  cached.cache = {.ways = 2, .load_factor = 0.1};
  EXPECT_EQ(Waits(Tables(cached, Table("u", Sgd{0.1f}))), 0);
  cached.cache.scratch_rows = 1;  // room is made by what a batch needs, which the host has to read
  EXPECT_GT(Waits(Tables(cached, Table("u", Sgd{0.1f}))), 0);
}

// Nobody reads how many rows found no line where there is room for all.
TEST_F(HostWaitsTest, ACacheCopiesNothingToTheHost) {
  const auto copies = [&](EmbeddingLocation location) {
    BaseEmbeddingConfig table = Table("t", Adam{0.1f});
    table.location = location;
    table.cache = {.ways = 2, .load_factor = 0.1};
    TableBatchedEmbedding tables = Tables(table, Table("u", Sgd{0.1f}));
    const KeyedJaggedTensor kjt = Kjt(40);
    tables.ForwardAll(ctx_, kjt);  // makes room
    const int64_t before = cuda_emulation::Stats().copies;
    tables.ForwardAll(ctx_, kjt);
    return cuda_emulation::Stats().copies - before;
  };
  EXPECT_EQ(copies(EmbeddingLocation::kManagedCaching), copies(EmbeddingLocation::kDevice));
}

// MCH writes ids down in each step, and looks at them in every fourth.
TEST_F(HostWaitsTest, NoneOfMchBetweenEvictionsAndFewInOne) {
  for (const MchEviction eviction :
       {MchEviction::kLfu, MchEviction::kLru, MchEviction::kDistanceLfu}) {
    MCHManagedCollisionModule mch(
        {.zch_size = 40, .eviction_policy = {eviction}, .eviction_interval = 4});
    int64_t between = 0;
    for (int64_t step = 1; step <= 12; ++step) {
      const int64_t waits = WaitsOfStep(mch, step);
      if (step % 4 == 0)
        EXPECT_LE(waits, 8);
      else if (step > 1)  // the first moves the list to the device
        between += waits;
    }
    EXPECT_EQ(between, 0);
  }
}

// Slots that have times change hands, which the host hears of when somebody asks.
TEST_F(HostWaitsTest, NoneOfHashZchUntilSomebodyAsks) {
  for (const HashZchEviction eviction :
       {HashZchEviction::kNone, HashZchEviction::kSingleTtl, HashZchEviction::kLru}) {
    HashZchManagedCollisionModule zch(ctx_, HashZch(eviction));
    int64_t evicted = 0;
    for (int64_t step = 1; step <= 8; ++step) {
      EXPECT_EQ(WaitsOfStep(zch, step), 0) << ToString(eviction) << " " << step;
      if (step % 4 == 0) evicted += zch.Evict(ctx_).numel();
    }
    EXPECT_EQ(evicted > 0, eviction != HashZchEviction::kNone) << ToString(eviction);
    EXPECT_EQ(zch.num_evicted(), evicted);
    EXPECT_GT(zch.NumIdsSync(ctx_), 50);
  }
}

// A batch of raw ids from `first` on, each twice.
KeyedJaggedTensor RawIds(Context& ctx, int64_t first, int64_t n) {
  Context cpu;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 2 * n; ++i) ids.push_back((first + i / 2) * 1'000'003);
  return KeyedJaggedTensor::FromLengthsSync({"a"}, Tensor::From(cpu, ids),
                                            Tensor::From<int64_t>(cpu, {n, n}))
      .To(ctx, Device::Cuda());
}

// Waits of six steps of a table, each of n ids, named twice, from `next` further on than those
// before, to which the module gives rows.
int64_t WaitsOfTable(Context& ctx, const std::shared_ptr<ManagedCollisionModule>& module,
                     const AnyRule& rule, bool growing, int64_t n, int64_t next) {
  EmbeddingBagConfig config;
  static_cast<BaseEmbeddingConfig&>(config) = SmallTable("t", module->output_size(), 8, rule);
  config.init_fn = {};
  config.feature_names = {"a"};
  config.growing = growing;
  const std::vector<EmbeddingBagConfig> configs = {config};
  ManagedCollisionEmbeddingBagCollection mc(
      std::make_unique<EmbeddingBagCollection>(
          ctx, configs, EmbeddingBagCollectionOptions{.bounds_check = BoundsCheckMode::kNone}),
      std::make_shared<ManagedCollisionCollection>(std::vector<ManagedTable>{{"t", module}},
                                                   std::vector<BaseEmbeddingConfig>{configs[0]}));
  int64_t waits = 0;
  for (int64_t step = 0; step < 6; ++step) {
    const KeyedJaggedTensor kjt = RawIds(ctx, step * next, n);
    const int64_t before = cuda_emulation::Stats().syncs;
    {
      Tape tape(ctx);
      tape.Backward(Sum(ctx, mc.Forward(ctx, kjt).embeddings.values()));
    }
    mc.Forward(ctx, kjt);
    waits += cuda_emulation::Stats().syncs - before;
  }
  return waits;
}

// Rows come into use, and at the cap go from one id to another.
TEST_F(HostWaitsTest, NoneWithAGrowingTable) {
  for (const int64_t max_rows : {100, 1000, 5000})
    for (const AnyRule& rule : {AnyRule(Adam{0.1f}), AnyRule(RowwiseAdagrad{0.1f})})
      for (const int64_t admit_after : {1, 2}) {
        const auto module = std::make_shared<GrowingManagedCollisionModule>(GrowingIndexOptions{
            .max_rows = max_rows, .admit_after = admit_after, .shared_rows = 2});
        EXPECT_EQ(WaitsOfTable(ctx_, module, rule, true, max_rows / 3, max_rows / 4), 0)
            << max_rows << " " << RuleName(rule) << " " << admit_after;
        EXPECT_EQ(module->index().num_rows(), max_rows);
        EXPECT_GT(module->num_evicted(), 0);
      }
}

// Rows that change hands start anew on the device.
TEST_F(HostWaitsTest, NoneWithATableOfHashZch) {
  for (const HashZchEviction eviction :
       {HashZchEviction::kNone, HashZchEviction::kSingleTtl, HashZchEviction::kLru})
    for (const AnyRule& rule : {AnyRule(Adam{0.1f}), AnyRule(RowwiseAdagrad{0.1f})}) {
      const auto module = std::make_shared<HashZchManagedCollisionModule>(ctx_, HashZch(eviction));
      EXPECT_EQ(WaitsOfTable(ctx_, module, rule, false, 60, 50), 0)
          << ToString(eviction) << " " << RuleName(rule);
      EXPECT_EQ(module->num_evicted() > 0, eviction != HashZchEviction::kNone);
    }
}

// Hundreds of windows are looked at before all rows have been freed.
TEST_F(HostWaitsTest, NoneForTheRowsOfAGrowingTableHoweverManyItHas) {
  for (const int64_t rows : {300, 1000, 5000}) {
    GrowingIndex index({.max_rows = rows});
    const auto waits = [&](int64_t first, int64_t n) {
      std::vector<int64_t> ids(static_cast<size_t>(n));
      std::iota(ids.begin(), ids.end(), first);
      const Tensor given = Tensor::From(ctx_, ids);
      const int64_t before = cuda_emulation::Stats().syncs;
      index.Insert(ctx_, given);
      return cuda_emulation::Stats().syncs - before;
    };
    waits(0, rows);
    EXPECT_EQ(waits(rows, rows), 0) << rows;
  }
}

}  // namespace
}  // namespace tessera
