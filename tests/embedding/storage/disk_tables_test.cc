// Tables on disk have the bits of tables in memory: every rule, row types, caps of the cache,
// batches prefetched ahead, readers in between, rows reset, parts written; and their refusals.
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

constexpr int64_t kRows = 70, kBags = 5;

class DiskTablesTest : public testing::DeviceTest {
 protected:
  // Two tables of one rule, with rows in f32 and in f16; `on_disk` says which are on disk.
  TableBatchedEmbedding Tables(const AnyRule& rule, bool on_disk) {
    Context same({.device = device(), .threads = 1, .seed = 3});
    std::vector<BaseEmbeddingConfig> configs(2);
    for (size_t t = 0; t < 2; ++t) {
      configs[t].name = "t" + std::to_string(t);
      configs[t].num_embeddings = kRows;
      configs[t].embedding_dim = t == 0 ? 4 : 6;
      configs[t].init_range = {-1, 1};
      configs[t].optimizer = rule;
      if (!on_disk) continue;
      configs[t].location = EmbeddingLocation::kDisk;
      configs[t].cache = cache_;
    }
    configs[1].data_type = configs[1].state_type = DType::kF16;
    configs[1].stochastic_rounding = true;
    TableBatchedEmbedding tables(same, configs, {PoolingType::kSum, PoolingType::kMean},
                                 {{"f0", 0, "a"}, {"f1", 1, "b"}, {"f2", 1, "c"}},
                                 {.bounds_check = BoundsCheckMode::kIgnore, .rounding_seed = 9});
    same.Sync();
    return tables;
  }

  KeyedJaggedTensor RandomKjt() {
    std::vector<int64_t> ids, lengths;
    for (int64_t bag = 0; bag < 3 * kBags; ++bag) {
      lengths.push_back(static_cast<int64_t>(random_() % 5));
      for (int64_t i = 0; i < lengths.back(); ++i) {
        const double u = std::uniform_real_distribution<double>(0, 1)(random_);
        ids.push_back(static_cast<int64_t>(static_cast<double>(kRows + 2) * u * u) - 1);
      }
    }
    return KeyedJaggedTensor::FromLengthsSync({"a", "b", "c"}, Tensor::From(ctx(), ids),
                                              Tensor::From(ctx(), lengths));
  }

  Tensor Train(TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx());
    const Variable out = tables.Forward(ctx(), kjt);
    tape.Backward(Sum(ctx(), Mul(ctx(), out, out)));
    return out.value();
  }

  void ExpectSameContents(TableBatchedEmbedding& plain, TableBatchedEmbedding& disk) {
    disk.caches().Flush(ctx());
    std::vector<int64_t> all(kRows);
    for (size_t row = 0; row < all.size(); ++row) all[row] = static_cast<int64_t>(row);
    const Tensor ids = Tensor::From(ctx(), all);
    for (int t = 0; t < 2; ++t) {
      ASSERT_EQ(plain.rows().num_parts(t), disk.rows().num_parts(t));
      for (int p = 0; p < plain.rows().num_parts(t); ++p) {
        EXPECT_EQ(plain.rows().part(t, p).name, disk.rows().part(t, p).name);
        EXPECT_TRUE(
            SameBits(plain.rows().Take(ctx(), t, p, ids), disk.rows().Take(ctx(), t, p, ids)))
            << "table " << t << ", part " << p;
      }
    }
  }

  // Trains both with some batches prefetched ahead, and compares them.
  void ExpectSameSteps(TableBatchedEmbedding& plain, TableBatchedEmbedding& disk, int steps,
                       int ahead) {
    Context side({.device = device(), .threads = 1});
    std::deque<KeyedJaggedTensor> queue;
    for (int step = 0; step < steps + ahead; ++step) {
      if (step < steps) {
        queue.push_back(RandomKjt());
        side.WaitFor(ctx());
        if (ahead > 0) disk.caches().Prefetch(ahead == 3 ? side : ctx(), queue.back());
      }
      if (step < ahead) continue;
      const KeyedJaggedTensor kjt = queue.front();
      queue.pop_front();
      ASSERT_TRUE(SameBits(Train(plain, kjt), Train(disk, kjt))) << step;
      if (step % 3 != 0) continue;
      const KeyedJaggedTensor read = RandomKjt();
      ASSERT_TRUE(SameBits(plain.Forward(ctx(), read).value(), disk.Forward(ctx(), read).value()))
          << "reading after " << step;
    }
    ExpectSameContents(plain, disk);
  }

  CacheConfig cache_ = {.folder = ::testing::TempDir()};
  std::mt19937 random_{20261122};
};

TEST_P(DiskTablesTest, GiveTheBitsOfMemoryByEveryRule) {
  std::vector<AnyRule> rules = testing::AllRules();
  CounterRowwiseAdagrad renewed =
      testing::CounterRule(WeightDecayMode::kL2, CounterRateMode::kTailIdLrIncrease, 4);
  renewed.max_counter_update_freq = 2;
  rules.push_back(renewed);
  for (size_t r = 0; r < rules.size(); ++r) {
    cache_.policy = r % 2 == 0 ? CachePolicy::kLru : CachePolicy::kLfu;
    cache_.ways = 1 + static_cast<int>(random_() % 8);
    cache_.load_factor = r % 5 == 0 ? 1e-9 : 0.1 * static_cast<double>(1 + random_() % 9);
    const int ahead = static_cast<int>(r % 4);
    TableBatchedEmbedding plain = Tables(rules[r], false), disk = Tables(rules[r], true);
    ExpectSameSteps(plain, disk, 8, ahead);
    ASSERT_FALSE(HasFailure()) << RuleName(rules[r]) << ", ways " << cache_.ways << ", load factor "
                               << cache_.load_factor << ", ahead " << ahead;
  }
}

TEST_P(DiskTablesTest, RowsResetAndPartsWritten) {
  cache_.ways = 2;
  TableBatchedEmbedding plain = Tables(Adam{0.1f}, false), disk = Tables(Adam{0.1f}, true);
  ExpectSameSteps(plain, disk, 5, 1);
  const Tensor ids = Tensor::From<int64_t>(ctx(), {0, 1, 2, 40, 69});
  for (TableBatchedEmbedding* tables : {&plain, &disk})
    tables->rows().Reset(ctx(), 1, ids.To(ctx(), DType::kI32));
  for (TableBatchedEmbedding* tables : {&plain, &disk}) {
    Context same({.device = device(), .threads = 1, .seed = 5});
    same.WaitFor(ctx());
    tables->rows().Reset(same, 0, ids, TableRows::ResetTo::kInitial);
    same.Sync();
  }
  ExpectSameSteps(plain, disk, 5, 0);
  const std::vector<float> eights(16, 8);
  disk.caches().Flush(ctx());
  disk.caches().Reset(ctx());
  disk.rows().part(0, 1).stored->write(std::vector<int64_t>{3, 4, 5, 6}, eights.data());
  plain.rows().part(0, 1).tensor.Rows(3, 7).Fill(ctx(), 8);
  ExpectSameSteps(plain, disk, 5, 2);
  EXPECT_GT(disk.caches().disk_stats(0).rows.rows_read, 0);
  EXPECT_GT(disk.caches().disk_stats(0).rows.rows_made, 0);
}

TEST_P(DiskTablesTest, RowsResetWithASlowCopy) {
  const EnsembleRowwiseAdagrad rule{.lr = 0.1f, .step_ema = 2, .step_swap = 3};
  TableBatchedEmbedding plain = Tables(rule, false), disk = Tables(rule, true);
  ExpectSameSteps(plain, disk, 5, 0);
  for (int t = 0; t < 2; ++t)
    for (TableBatchedEmbedding* tables : {&plain, &disk}) {
      Context same({.device = device(), .threads = 1, .seed = 5});
      same.WaitFor(ctx());
      tables->rows().Reset(same, t, Tensor::From<int64_t>(same, {0, 1, 2, 40, 69}),
                           TableRows::ResetTo::kInitial);
      same.Sync();
    }
  ExpectSameContents(plain, disk);
  ExpectSameSteps(plain, disk, 5, 0);
}

TEST_P(DiskTablesTest, RefusesWhatDoesNotGoTogether) {
  TableBatchedEmbedding disk = Tables(Adam{0.1f}, true);
  EXPECT_THAT([&] { (void)disk.weight(0); },
              ThrowsMessage<Error>(HasSubstr("table t0: its location is DISK")));
  EXPECT_THAT([&] { (void)disk.optimizer_states(1); }, ThrowsMessage<Error>(HasSubstr("t1")));
  for (const int none : {-1, 3})
    EXPECT_THAT([&] { disk.rows().part(0, none); },
                ThrowsMessage<Error>(HasSubstr("rows().part: expected a part of 0 to 2, got")));
  std::vector<float> row(4);
  for (const int64_t none : {int64_t{-1}, kRows})
    EXPECT_THAT([&] { disk.rows().part(0, 0).stored->read(std::vector{none}, row.data()); },
                ThrowsMessage<Error>(HasSubstr("of a table of 70")));
  BaseEmbeddingConfig config;
  config.name = "t";
  config.num_embeddings = config.embedding_dim = 4;
  config.location = EmbeddingLocation::kDisk;
  const auto make = [&] {
    TableBatchedEmbedding(ctx(), {config}, {PoolingType::kSum}, {{"f", 0, "f"}});
  };
  config.cache.folder = "/nowhere";
  EXPECT_THAT(make, ThrowsMessage<Error>(HasSubstr("table t: /nowhere: no scratch file")));
  config.init_fn = [](Context&, const Tensor&) {};
  EXPECT_THAT(make, ThrowsMessage<Error>(HasSubstr("table t: location DISK: an init_fn")));
  config.optimizer = Dense{};
  EXPECT_THAT(make, ThrowsMessage<Error>(HasSubstr("location DISK is for rules that update")));
}

TESSERA_INSTANTIATE_DEVICES(DiskTablesTest);

}  // namespace
}  // namespace tessera
