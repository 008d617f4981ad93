// Tables give the same bits wherever they lie: outputs, gradients of weights, rows and states, with
// batches prefetched ahead and readers in between.
#include <gmock/gmock.h>

#include <deque>
#include <random>

#include "embedding/table_batched_embedding.h"
#include "runtime/ops/arithmetic.h"
#include "tests/testing/devices.h"
#include "tests/testing/rules.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int64_t kRows = 90, kBags = 6;

struct Placement {
  EmbeddingLocation location = EmbeddingLocation::kDevice;
  CacheConfig cache = {};
};

CounterRowwiseAdagrad Counted() {
  CounterRowwiseAdagrad rule =
      testing::CounterRule(WeightDecayMode::kNone, CounterRateMode::kTailIdLrIncrease, 2);
  rule.max_counter_update_freq = 3;
  return rule;
}

class PlacedTablesTest : public testing::DeviceTest {
 protected:
  // Table i has placement i mod their number. Keys are read by several tables, and tables by
  // several keys.
  TableBatchedEmbedding Tables(const std::vector<Placement>& placements) {
    std::vector<BaseEmbeddingConfig> configs(3);
    const AnyRule rules[] = {RowwiseAdagrad{0.1f}, Adam{0.1f},
                             EmaInPlaceRowwiseAdagrad{.lr = 0.1f, .step_ema = 2}};
    for (size_t t = 0; t < configs.size(); ++t) {
      const Placement& placement = placements[t % placements.size()];
      configs[t].name = "t" + std::to_string(t);
      configs[t].num_embeddings = kRows;
      configs[t].embedding_dim = std::vector<int64_t>{8, 5, 4}[t];
      configs[t].init_fn = [](Context& ctx, const Tensor& rows) {
        Context same({.device = ctx.device(), .threads = 1, .seed = 3});
        ctx.Sync();
        FillUniform(same, rows, -1, 1);
        same.Sync();
      };
      configs[t].optimizer = rules[t];
      configs[t].location = placement.location;
      configs[t].cache = placement.cache;
    }
    configs[1].data_type = DType::kF16;
    configs[1].stochastic_rounding = true;
    return TableBatchedEmbedding(
        ctx(), configs, {PoolingType::kSum, PoolingType::kMean, PoolingType::kSum},
        {{"f0", 0, "a"}, {"f1", 0, "b"}, {"f2", 1, "a"}, {"f3", 1, "c"}, {"f4", 2, "b"}},
        {.weighted = true, .bounds_check = BoundsCheckMode::kIgnore, .rounding_seed = 9});
  }

  KeyedJaggedTensor RandomKjt(Context& on) {
    std::vector<int64_t> ids, lengths;
    std::vector<float> weights;
    for (int64_t bag = 0; bag < 3 * kBags; ++bag) {
      lengths.push_back(static_cast<int64_t>(random_() % 6));
      for (int64_t i = 0; i < lengths.back(); ++i) {
        const double u = std::uniform_real_distribution<double>(0, 1)(random_);
        ids.push_back(static_cast<int64_t>(static_cast<double>(kRows + 2) * u * u) - 1);
        weights.push_back(static_cast<float>(u) + 0.5f);
      }
    }
    return KeyedJaggedTensor::FromLengthsSync(
        {"a", "b", "c"}, Tensor::From(on, ids), Tensor::From(on, lengths),
        Variable(Tensor::From(on, weights), /*requires_grad=*/true));
  }

  static Tensor Train(Context& ctx, TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx);
    const Variable out = tables.Forward(ctx, kjt);
    tape.Backward(Sum(ctx, Mul(ctx, out, out)));
    return out.value();
  }

  static std::vector<Tensor> Contents(Context& ctx, TableBatchedEmbedding& tables) {
    tables.caches().Flush(ctx);
    std::vector<Tensor> contents;
    for (int t = 0; t < tables.num_tables(); ++t) {
      contents.push_back(tables.weight(t).To(ctx, Device::Cpu()));
      for (const OptimizerState& s : tables.optimizer_states(t))
        contents.push_back(s.tensor.To(ctx, Device::Cpu()));
    }
    return contents;
  }

  void ExpectSameContents(TableBatchedEmbedding& a, TableBatchedEmbedding& b) {
    const std::vector<Tensor> expected = Contents(ctx(), a), got = Contents(ctx(), b);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(SameBits(expected[i], got[i])) << i;
  }

  void ExpectSameBits(const std::vector<Placement>& placements, int ahead, bool two_streams) {
    Context side({.device = device(), .threads = 1});
    TableBatchedEmbedding plain = Tables({{}}), placed = Tables(placements);
    std::deque<KeyedJaggedTensor> queue;
    for (int step = 0; step < 8 + ahead; ++step) {
      if (step < 8) {
        queue.push_back(RandomKjt(ctx()));
        side.WaitFor(ctx());
        if (ahead > 0) placed.caches().Prefetch(two_streams ? side : ctx(), queue.back());
      }
      if (step < ahead) continue;
      const KeyedJaggedTensor kjt = queue.front();
      queue.pop_front();
      ASSERT_TRUE(SameBits(Train(ctx(), plain, kjt), Train(ctx(), placed, kjt))) << step;
      const KeyedJaggedTensor read = RandomKjt(ctx());
      ASSERT_TRUE(SameBits(plain.Forward(ctx(), read).value(), placed.Forward(ctx(), read).value()))
          << "reading after " << step;
    }
    ExpectSameContents(plain, placed);
  }

  std::mt19937 random_{20261121};
};

TEST_P(PlacedTablesTest, GiveTheBitsOfTheDevice) {
  const Placement host{EmbeddingLocation::kHost}, managed{EmbeddingLocation::kManaged};
  const auto cached = [](const CacheConfig& config) {
    return Placement{EmbeddingLocation::kManagedCaching, config};
  };
  const Placement tiny = cached({.ways = 2, .load_factor = 1e-9}),
                  small = cached({.policy = CachePolicy::kLfu, .ways = 4, .load_factor = 0.2}),
                  whole = cached({.load_factor = 1});
  for (const std::vector<Placement>& placements :
       {std::vector{host}, {managed}, {tiny}, {small}, {whole}, {small, {}, tiny}, {host, tiny}})
    for (const int ahead : {0, 1, 3}) {
      ExpectSameBits(placements, ahead, /*two_streams=*/ahead == 3);
      ASSERT_FALSE(HasFailure()) << ToString(placements[0].location) << ", ahead " << ahead;
    }
}

// A row's count falls when it comes again after a while: the table then has an old count, and a
// line of the cache that was given away another one.
TEST_P(PlacedTablesTest, CountsAreThoseOfTheRowsAsTheyAre) {
  const auto table = [&](const Placement& placement) {
    BaseEmbeddingConfig config;
    config.name = "t";
    config.num_embeddings = 40;
    config.embedding_dim = 4;
    config.init_fn = [](Context& c, const Tensor& rows) { rows.Fill(c, 0.5); };
    config.optimizer = Counted();
    config.location = placement.location;
    config.cache = placement.cache;
    return TableBatchedEmbedding(ctx(), {config}, {PoolingType::kSum}, {{"f", 0, "a"}}, {});
  };
  const auto step = [&](TableBatchedEmbedding& tables, int64_t id) {
    Train(ctx(), tables,
          KeyedJaggedTensor::FromLengthsSync({"a"}, Tensor::From<int64_t>(ctx(), {id}),
                                             Tensor::From<int64_t>(ctx(), {1})));
    return std::get<CounterRowwiseAdagrad>(tables.rule(0)).max_counter;
  };
  for (const double load_factor : {1e-9, 0.3, 1.0}) {
    TableBatchedEmbedding plain = table({}),
                          cached = table({EmbeddingLocation::kManagedCaching,
                                          {.ways = 2, .load_factor = load_factor}});
    for (int64_t i = 0; i < 40; ++i) {
      const int64_t id = i < 8 || i == 30 ? 1 : i;
      ASSERT_EQ(step(plain, id), step(cached, id)) << load_factor << ", step " << i;
      if (i == 15) cached.caches().Flush(ctx());
    }
    ExpectSameContents(plain, cached);
  }
}

// Training reads the gradients of weights too: the rows before the update are in scratch.
TEST_P(PlacedTablesTest, GradientsOfWeights) {
  TableBatchedEmbedding plain = Tables({{}}),
                        placed = Tables({{EmbeddingLocation::kManagedCaching, {.ways = 1}}});
  const KeyedJaggedTensor kjt = RandomKjt(ctx());
  Train(ctx(), plain, kjt);
  const Tensor expected = kjt.weights().grad().Clone(ctx());
  kjt.weights().grad().Fill(ctx(), 0);
  Train(ctx(), placed, kjt);
  EXPECT_TRUE(SameBits(expected, kjt.weights().grad()));
}

TEST_P(PlacedTablesTest, FrozenTablesResetRowsAndLoadedOnes) {
  TableBatchedEmbedding plain = Tables({{}}),
                        placed = Tables({{EmbeddingLocation::kManagedCaching, {.ways = 2}}});
  for (int step = 0; step < 9; ++step) {
    for (TableBatchedEmbedding* tables : {&plain, &placed}) {
      tables->SetFrozen(0, step % 3 == 1);
      if (step == 4) tables->rows().Reset(ctx(), 1, Tensor::From<int64_t>(ctx(), {0, 1, 2, 40}));
      if (step != 6) continue;
      tables->caches().Flush(ctx());
      tables->caches().Reset(ctx());
      tables->weight(0).Rows(3, 9).Fill(ctx(), 0.25);
    }
    const KeyedJaggedTensor kjt = RandomKjt(ctx());
    ASSERT_TRUE(SameBits(Train(ctx(), plain, kjt), Train(ctx(), placed, kjt))) << step;
  }
  ExpectSameContents(plain, placed);
}

TEST_P(PlacedTablesTest, BatchesAreTrainedInTheOrderOfTheirPrefetches) {
  TableBatchedEmbedding tables = Tables({{EmbeddingLocation::kManagedCaching, {.ways = 4}}});
  const KeyedJaggedTensor first = RandomKjt(ctx()), second = RandomKjt(ctx());
  tables.caches().Prefetch(ctx(), first);
  tables.caches().Prefetch(ctx(), second);
  EXPECT_THAT([&] { Train(ctx(), tables, second); },
              ThrowsMessage<Error>(HasSubstr("than the first of 2 that were prefetched")));
  EXPECT_THAT([&] { tables.caches().Reset(ctx()); },
              ThrowsMessage<Error>(HasSubstr("2 prefetched")));
  Train(ctx(), tables, first);
  Train(ctx(), tables, second);
  EXPECT_NO_THROW(tables.caches().Reset(ctx()));
  const CacheStats stats = tables.caches().StatsSync(ctx(), 1);
  EXPECT_EQ(stats.calls, 2);
  EXPECT_EQ(stats.unique, stats.hits + stats.misses);
  EXPECT_GT(stats.hits, 0);
}

TEST_P(PlacedTablesTest, ATapeThatIsGoneWithoutBackwardLeavesNothingLocked) {
  TableBatchedEmbedding plain = Tables({{}}),
                        placed = Tables({{EmbeddingLocation::kManagedCaching, {.ways = 2}}});
  for (int step = 0; step < 4; ++step) {
    const KeyedJaggedTensor lost = RandomKjt(ctx()), kjt = RandomKjt(ctx());
    for (TableBatchedEmbedding* tables : {&plain, &placed}) {
      Tape tape(ctx());
      (void)tables->Forward(ctx(), lost);
    }
    ASSERT_TRUE(SameBits(Train(ctx(), plain, kjt), Train(ctx(), placed, kjt))) << step;
  }
  ExpectSameContents(plain, placed);
  EXPECT_NO_THROW(placed.caches().Reset(ctx()));
}

TEST_P(PlacedTablesTest, RefusesToCacheWhatNoRuleUpdates) {
  BaseEmbeddingConfig config;
  config.name = "t";
  config.num_embeddings = config.embedding_dim = 4;
  config.optimizer = Dense{};
  config.location = EmbeddingLocation::kManagedCaching;
  EXPECT_THAT(
      [&] {
        TableBatchedEmbedding(ctx(), {config}, {PoolingType::kSum}, {{"f", 0, "f"}});
      },
      ThrowsMessage<Error>(HasSubstr("table t: location MANAGED_CACHING is for rules")));
}

TESSERA_INSTANTIATE_DEVICES(PlacedTablesTest);

}  // namespace
}  // namespace tessera
