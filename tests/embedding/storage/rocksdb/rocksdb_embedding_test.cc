// Tables in RocksDB against tables in memory, bit for bit; stores that are opened again, and
// checkpoints of them.
#include "embedding/storage/rocksdb/rocksdb_embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <random>

#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using Numbers = std::vector<int64_t>;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr int64_t kIds = 40;

// A folder that does not exist at first, and is removed in the end.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(::testing::TempDir() + "/rocksdb_" + name) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class RocksDbTest : public testing::DeviceTest {
 protected:
  // Tables "t" (features a and b) and "s" (c).
  std::vector<EmbeddingBagConfig> Configs(const AnyRule& rule, int64_t rows, DType type) {
    std::vector<EmbeddingBagConfig> configs(2);
    static_cast<BaseEmbeddingConfig&>(configs[0]) =
        testing::Filled(testing::SmallTable("t", rows, 3, rule), 0.5f);
    static_cast<BaseEmbeddingConfig&>(configs[1]) =
        testing::Filled(testing::SmallTable("s", rows, 2, rule), -1);
    configs[0].feature_names = {"a", "b"};
    configs[1].feature_names = {"c"};
    configs[1].pooling = PoolingType::kMean;
    for (EmbeddingBagConfig& config : configs) config.data_type = config.state_type = type;
    return configs;
  }
  std::unique_ptr<EmbeddingBagCollection> InMemory(const AnyRule& rule, int64_t rows,
                                                   DType type = DType::kF32) {
    return std::make_unique<EmbeddingBagCollection>(
        ctx(), Configs(rule, rows, type), EmbeddingBagCollectionOptions{.is_weighted = true});
  }
  // Raw ids are `id(i)` of i in [0, kIds).
  template <typename Id>
  KeyedJaggedTensor Batch(int step, const Id& id) {
    std::mt19937 random(static_cast<unsigned>(step));
    Numbers ids, lengths;
    std::vector<float> weights;
    for (int bag = 0; bag < 9; ++bag) {
      lengths.push_back(static_cast<int64_t>(random() % 4));
      for (int64_t n = lengths.back(); n > 0; --n) {
        ids.push_back(id(static_cast<int64_t>(random() % kIds)));
        weights.push_back(static_cast<float>(random() % 8) / 4);
      }
    }
    return KeyedJaggedTensor::FromLengthsSync({"b", "c", "a"}, Tensor::From(ctx(), ids),
                                              Tensor::From(ctx(), lengths),
                                              Tensor::From(ctx(), weights));
  }
  template <typename Collection>
  Tensor Step(Collection& collection, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx());
    const Variable out = collection.Forward(ctx(), kjt).values();
    tape.Backward(out, Tensor::Full(ctx(), out.shape(), 0.75));
    return out.value().ToHost();
  }
};

int64_t Same(int64_t i) { return i; }
// Raw ids, far apart and of both signs.
int64_t Raw(int64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u);
}

TEST_P(RocksDbTest, TablesHaveTheBitsOfTablesInMemory) {
  const std::vector<AnyRule> rules = {Adam{0.1f}, RowwiseAdagrad{0.1f}};
  for (size_t r = 0; r < rules.size(); ++r) {
    const DType type = r == 1 ? DType::kBF16 : DType::kF32;
    const Folder folder(Format("bits_{}", r));
    const auto memory = InMemory(rules[r], kIds, type);
    auto tables = std::make_unique<RocksDbEmbeddingBagCollection>(
        InMemory(rules[r], 20, type), std::make_shared<RocksDbStore>(folder.path()));
    for (int step = 0; step < 8; ++step) {
      const Tensor expected = Step(*memory, Batch(step, Same));
      EXPECT_TRUE(SameBits(Step(*tables, Batch(step, Raw)), expected)) << step;
      // Reads without training, then goes on as another process would.
      const Tensor read = tables->Forward(ctx(), Batch(step + 20, Raw)).values().value().ToHost();
      EXPECT_TRUE(
          SameBits(read, memory->Forward(ctx(), Batch(step + 20, Same)).values().value().ToHost()));
      if (step != 4) continue;
      tables.reset();
      tables = std::make_unique<RocksDbEmbeddingBagCollection>(
          InMemory(rules[r], 20, type), std::make_shared<RocksDbStore>(folder.path()));
      EXPECT_EQ(tables->collection().tables().iter(0), 5);
    }
    tables->Flush(ctx());
    const Tensor weight = memory->tables().weight(0).ToHost();
    std::map<int64_t, Tensor> rows;
    tables->ForEachRow(0, [&](int64_t id, const std::vector<Tensor>& parts) {
      EXPECT_TRUE(rows.empty() || rows.rbegin()->first < id);
      EXPECT_EQ(parts.size(), 1 + memory->tables().optimizer_states(0).size());
      rows[id] = parts[0];
    });
    EXPECT_GT(rows.size(), size_t{20});
    for (int64_t i = 0; i < kIds; ++i)
      if (rows.count(Raw(i)) == 1) {
        EXPECT_TRUE(SameBits(rows[Raw(i)], weight.Rows(i, i + 1)));
      }
  }
}

TEST_P(RocksDbTest, ACheckpointKeepsWhatWasThere) {
  const Folder folder("live"), copy("copy");
  RocksDbEmbeddingBagCollection tables(InMemory(Adam{0.1f}, 20),
                                       std::make_shared<RocksDbStore>(folder.path()));
  for (int step = 0; step < 3; ++step) Step(tables, Batch(step, Raw));
  tables.Checkpoint(ctx(), copy.path());
  EXPECT_NE(ErrorOf([&] { tables.Checkpoint(ctx(), copy.path()); }), "");
  const Tensor then = tables.Forward(ctx(), Batch(9, Raw)).values().value().ToHost();
  Step(tables, Batch(3, Raw));
  RocksDbEmbeddingBagCollection old(InMemory(Adam{0.1f}, 20),
                                    std::make_shared<RocksDbStore>(copy.path()));
  EXPECT_TRUE(SameBits(old.Forward(ctx(), Batch(9, Raw)).values().value().ToHost(), then));
  // A step from the old model's state has the same bits.
  Step(old, Batch(3, Raw));
  EXPECT_TRUE(SameBits(old.Forward(ctx(), Batch(3, Raw)).values().value().ToHost(),
                       tables.Forward(ctx(), Batch(3, Raw)).values().value().ToHost()));
}

TEST_P(RocksDbTest, CountersGoOnWhereABatchNamesNoRow) {
  const Folder folder("counters");
  const auto open = [&] {
    return std::make_unique<RocksDbEmbeddingBagCollection>(
        InMemory(Adam{0.1f}, 20), std::make_shared<RocksDbStore>(folder.path()));
  };
  auto tables = open();
  // c, which table 1 reads, has no ids.
  Step(*tables, KeyedJaggedTensor::FromLengthsSync({"b", "c", "a"}, Tensor::From(ctx(), Numbers{7}),
                                                   Tensor::From(ctx(), Numbers{1, 0, 0}),
                                                   Tensor::From<float>(ctx(), {1})));
  tables->Flush(ctx());
  tables.reset();
  tables = open();
  EXPECT_EQ(tables->collection().tables().iter(0), 1);
  EXPECT_EQ(tables->collection().tables().iter(1), 1);
}

TEST_P(RocksDbTest, NewRowsDependOnSeedAndIdAlone) {
  EmbeddingConfig config;
  static_cast<BaseEmbeddingConfig&>(config) = testing::SmallTable("t", 4, 5);
  config.feature_names = {"a"};
  config.init_range = {-1.0f, 1.0f};
  const Folder folder("start");
  const auto store = std::make_shared<RocksDbStore>(folder.path());
  const auto rows = [&](const Numbers& ids, uint64_t seed) {
    RocksDbEmbeddingCollection tables(
        std::make_unique<EmbeddingCollection>(ctx(), std::vector{config}), store, seed);
    const KeyedJaggedTensor kjt = KeyedJaggedTensor::FromLengthsSync(
        {"a"}, Tensor::From(ctx(), ids),
        Tensor::From<int64_t>(ctx(), {static_cast<int64_t>(ids.size())}));
    return tables.Forward(ctx(), kjt)[0].second.values().value().ToHost();
  };
  const Tensor ab = rows({7, -8}, 1), ba = rows({-8, 3, 7}, 1), other = rows({7}, 2);
  EXPECT_TRUE(SameBits(ab.Rows(0, 1), ba.Rows(2, 3)));
  EXPECT_TRUE(SameBits(ab.Rows(1, 2), ba.Rows(0, 1)));
  EXPECT_FALSE(SameBits(ab.Rows(0, 1), ab.Rows(1, 2)));
  EXPECT_FALSE(SameBits(ab.Rows(0, 1), other));
}

TEST_P(RocksDbTest, WhatDoesNotFitIsRefused) {
  const Folder folder("refused");
  const auto store = std::make_shared<RocksDbStore>(folder.path());
  RocksDbEmbeddingBagCollection small(InMemory(Sgd{}, 2), store);
  EXPECT_THAT(ErrorOf([&] { small.Forward(ctx(), Batch(0, Raw)); }),
              HasSubstr("num_embeddings makes room for 2"));
  {
    RocksDbEmbeddingBagCollection tables(InMemory(Sgd{}, 20), store);
    Tape tape(ctx());
    tables.Forward(ctx(), Batch(0, Raw));
    EXPECT_THAT(ErrorOf([&] { tables.Forward(ctx(), Batch(1, Raw)); }), HasSubstr("backward"));
  }
  RocksDbEmbeddingBagCollection tables(InMemory(Sgd{}, 20), store);
  Step(tables, Batch(0, Raw));
  tables.Flush(ctx());
  RocksDbEmbeddingBagCollection adam(InMemory(Adam{}, 20), store);
  EXPECT_THAT(ErrorOf([&] { adam.Forward(ctx(), Batch(0, Raw)); }),
              HasSubstr("another dim, type or rule"));
  EXPECT_THAT(
      ErrorOf([&] { RocksDbEmbeddingBagCollection(InMemory(CounterRowwiseAdagrad{}, 20), store); }),
      HasSubstr("needs all rows in memory"));
  for (const EmbeddingLocation cached :
       {EmbeddingLocation::kManagedCaching, EmbeddingLocation::kDisk}) {
    EmbeddingBagConfig config;
    static_cast<BaseEmbeddingConfig&>(config) = testing::SmallTable("t", 20, 3);
    config.feature_names = {"a"};
    config.location = cached;
    config.cache.folder = ::testing::TempDir();
    EXPECT_THAT(ErrorOf([&] {
                  RocksDbEmbeddingBagCollection(
                      std::make_unique<EmbeddingBagCollection>(ctx(), std::vector{config}), store);
                }),
                HasSubstr("neither have a cache"));
  }
  EXPECT_THAT(ErrorOf([&] { RocksDbStore second(folder.path()); }), HasSubstr("cannot open"));
  EXPECT_THAT(
      ErrorOf([&] { RocksDbStore none(folder.path() + "_", {.create_if_missing = false}); }),
      HasSubstr("cannot open"));
}

TEST(RocksDbStoreTest, RecordsAreKeptByTableAndId) {
  const Folder folder("store");
  {
    RocksDbStore store(folder.path());
    RocksDbStore::Batch batch;
    for (const int64_t id : {int64_t{5}, int64_t{-1}, INT64_MIN, INT64_MAX})
      batch.Put("t", id, Format("r{}", id));
    batch.Put("tt", 5, "other");
    batch.Put("t", 6, "gone");
    batch.Erase("t", 6);
    store.Write(std::move(batch));
    store.Sync();
  }
  const RocksDbStore store(folder.path());
  std::vector<std::pair<int64_t, std::string>> all;
  store.ForEach("t", [&](int64_t id, std::string_view r) { all.emplace_back(id, r); });
  EXPECT_THAT(all, ElementsAre(Pair(INT64_MIN, Format("r{}", INT64_MIN)), Pair(-1, "r-1"),
                               Pair(5, "r5"), Pair(INT64_MAX, Format("r{}", INT64_MAX))));
  std::vector<std::pair<size_t, std::string>> read;
  store.Read("t", Numbers{6, 5, 7, -1},
             [&](size_t i, std::string_view r) { read.emplace_back(i, r); });
  EXPECT_THAT(read, ElementsAre(Pair(1, "r5"), Pair(3, "r-1")));
}

TEST(RocksDbStoreTest, WhatWasWrittenOutlivesAKilledProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, from the start
  const Folder folder("killed");
  const auto write_and_die = [&] {
    RocksDbStore store(folder.path());
    RocksDbStore::Batch batch;
    for (int64_t id = 0; id < 100; ++id) batch.Put("t", id, Format("r{}", id));
    store.Write(std::move(batch));
    raise(SIGKILL);
  };
  EXPECT_EXIT(write_and_die(), ::testing::KilledBySignal(SIGKILL), "");
  const RocksDbStore store(folder.path(), {.create_if_missing = false});
  int64_t records = 0;
  store.ForEach("t", [&](int64_t id, std::string_view r) {
    EXPECT_EQ(id, records++);
    EXPECT_EQ(r, Format("r{}", id));
  });
  EXPECT_EQ(records, 100);
}

TESSERA_INSTANTIATE_DEVICES(RocksDbTest);

}  // namespace
}  // namespace tessera
