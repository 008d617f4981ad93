#include "embedding/managed_collision/managed_collision_embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "embedding/row_init.h"
#include "runtime/ops/arithmetic.h"
#include "tests/embedding/managed_collision/raw_ids.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::RawIds;

class ManagedCollisionEmbeddingTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(ManagedCollisionEmbeddingTest);

template <typename Config>
Config Table(const std::string& name, int64_t rows, std::vector<std::string> features) {
  Config config;
  config.name = name;
  config.num_embeddings = rows;
  config.embedding_dim = 2;
  config.feature_names = std::move(features);
  config.init_fn = ConstantRows(0.5f);
  config.optimizer = RowwiseAdagrad{1.0f, 0.0f};
  return config;
}

std::shared_ptr<ManagedCollisionModule> Lru(int64_t rows) {
  return std::make_shared<MCHManagedCollisionModule>(
      MchOptions{.zch_size = rows, .eviction_policy = {.eviction = MchEviction::kLru}});
}

KeyedJaggedTensor Bags(Context& ctx, std::vector<std::string> keys, std::vector<int64_t> ids,
                       std::vector<int64_t> lengths) {
  return KeyedJaggedTensor::FromLengthsSync(std::move(keys), Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

template <typename Config>
std::shared_ptr<ManagedCollisionCollection> Collection(std::vector<ManagedTable> modules,
                                                       const std::vector<Config>& configs) {
  return std::make_shared<ManagedCollisionCollection>(
      std::move(modules), std::vector<BaseEmbeddingConfig>(configs.begin(), configs.end()));
}

ManagedCollisionEmbeddingBagCollection OneTable(Context& ctx,
                                                std::shared_ptr<ManagedCollisionModule> module,
                                                bool return_remapped_features = false,
                                                bool growing = false) {
  std::vector<EmbeddingBagConfig> configs = {
      Table<EmbeddingBagConfig>("t", module->output_size(), {"a"})};
  configs[0].growing = growing;
  return {std::make_unique<EmbeddingBagCollection>(ctx, configs),
          Collection({{"t", std::move(module)}}, configs), return_remapped_features};
}

void TrainOn(Context& ctx, ManagedCollisionEmbeddingBagCollection& mc,
             const KeyedJaggedTensor& kjt) {
  Tape tape(ctx);
  tape.Backward(Sum(ctx, mc.Forward(ctx, kjt).embeddings.values()));
}

TEST_P(ManagedCollisionEmbeddingTest, EachTableRemapsItsOwnFeatures) {
  Context& ctx = this->ctx();
  const std::vector<EmbeddingBagConfig> configs = {Table<EmbeddingBagConfig>("t", 4, {"c", "a"}),
                                                   Table<EmbeddingBagConfig>("u", 3, {"b"})};
  auto collection = Collection({{"u", Lru(3)}, {"t", Lru(4)}}, configs);
  const KeyedJaggedTensor raw =
      Bags(ctx, {"a", "x", "b", "c"}, {1000, 77, -5, 1000, -5, 3}, {1, 0, 0, 1, 2, 0, 1, 1});
  const KeyedJaggedTensor weighted = raw.WithWeights(Variable(Tensor::Full(ctx, {6}, 2)));
  Tape tape(ctx);
  const KeyedJaggedTensor rows = collection->Forward(ctx, weighted);
  EXPECT_EQ(rows.keys(), raw.keys());
  EXPECT_TRUE(SameBits(rows.lengths(ctx), raw.lengths(ctx)));
  EXPECT_TRUE(rows.is_weighted());
  const auto v = rows.values().ToVector<int64_t>();
  EXPECT_EQ(v[1], 77);  // a key that no table reads
  const std::set<int64_t> of_t = {v[0], v[4], v[5]};
  EXPECT_EQ(of_t.size(), 3u);  // 1000, −5 and 3 in table t
  EXPECT_EQ(std::set<int64_t>({v[2], v[3]}).size(), 2u);
  for (const int64_t row : of_t) EXPECT_LT(row, 3);
  EXPECT_THAT(raw.values().ToVector<int64_t>(), ElementsAre(1000, 77, -5, 1000, -5, 3));
}

TEST(ManagedCollisionCollectionTest, PartsThatDoNotFitAreRefused) {
  const std::vector<EmbeddingBagConfig> one = {Table<EmbeddingBagConfig>("t", 4, {"a"})};
  EXPECT_THAT(ErrorOf([&] { Collection({}, one); }), HasSubstr("table t has no module"));
  EXPECT_THAT(ErrorOf([&] { Collection({{"t", Lru(3)}}, one); }), HasSubstr("table t"));
  EXPECT_THAT(ErrorOf([&] {
                Collection({{"t", Lru(4)}, {"u", Lru(4)}}, one);
              }),
              HasSubstr("which is no table"));
  const std::vector<EmbeddingBagConfig> shared = {Table<EmbeddingBagConfig>("t", 4, {"a"}),
                                                  Table<EmbeddingBagConfig>("u", 4, {"a"})};
  EXPECT_THAT(ErrorOf([&] {
                Collection({{"t", Lru(4)}, {"u", Lru(4)}}, shared);
              }),
              HasSubstr("feature a is read by the tables t and u"));
  Context ctx;
  EXPECT_THAT(
      ErrorOf([&] {
        ManagedCollisionEmbeddingBagCollection(
            std::make_unique<EmbeddingBagCollection>(ctx, one),
            Collection({{"t", Lru(4)}, {"u", Lru(4)}},
                       std::vector<EmbeddingBagConfig>{Table<EmbeddingBagConfig>("t", 4, {"a"}),
                                                       Table<EmbeddingBagConfig>("u", 4, {"b"})}));
      }),
      HasSubstr("tables of the embeddings"));
}

TEST(ManagedCollisionCollectionTest, ATableMayHaveNoFeatures) {
  Context ctx;
  auto collection =
      Collection({{"t", Lru(4)}, {"u", Lru(3)}}, std::vector<EmbeddingBagConfig>{
                                                     Table<EmbeddingBagConfig>("t", 4, {}),
                                                     Table<EmbeddingBagConfig>("u", 3, {"a"}),
                                                 });
  const KeyedJaggedTensor rows = collection->Forward(ctx, Bags(ctx, {"a"}, {-70}, {1}));
  EXPECT_THAT(rows.values().ToVector<int64_t>(), ElementsAre(2));  // the miss row
}

TEST(ManagedCollisionCollectionTest, TablesWithoutAModuleReadRowNumbers) {
  Context ctx;
  const auto make = [&](const std::string& feature_of_plain) {
    const std::vector<EmbeddingBagConfig> configs = {
        Table<EmbeddingBagConfig>("plain", 5, {feature_of_plain}),
        Table<EmbeddingBagConfig>("t", 3, {"a"})};
    return ManagedCollisionEmbeddingBagCollection(
        std::make_unique<EmbeddingBagCollection>(ctx, configs),
        Collection({{"t", Lru(3)}}, std::vector<EmbeddingBagConfig>{configs[1]}), true);
  };
  auto mc = make("b");
  Tape tape(ctx);
  const auto out = mc.Forward(ctx, Bags(ctx, {"a", "b"}, {-70, 4}, {1, 1}));
  const auto rows = out.remapped_features->values().ToVector<int64_t>();
  EXPECT_TRUE(rows[0] >= 0 && rows[0] < 3) << rows[0];
  EXPECT_EQ(rows[1], 4);
  EXPECT_THAT(ErrorOf([&] { make("a"); }), HasSubstr("feature a is read by table t"));
}

TEST_P(ManagedCollisionEmbeddingTest, AnEvictedIdThatComesBackStartsFresh) {
  Context& ctx = this->ctx();
  auto mc = OneTable(ctx, Lru(3));
  const auto one = [&](int64_t id) { return Bags(ctx, {"a"}, {id}, {1}); };
  const auto value = [&](int64_t id) {
    return mc.Forward(ctx, one(id)).embeddings.values().value().ToVector<float>()[0];
  };
  TrainOn(ctx, mc, one(70));
  TrainOn(ctx, mc, one(70));
  const float trained = value(70);
  EXPECT_LT(trained, 0.5f);
  TrainOn(ctx, mc, one(80));
  TrainOn(ctx, mc, one(90));  // takes 70's row
  EXPECT_EQ(value(90), value(80));
  EXPECT_EQ(value(70), 0.5f);  // the miss row
  TrainOn(ctx, mc, one(70));
  TrainOn(ctx, mc, one(70));
  EXPECT_EQ(value(70), trained);
}

TEST_P(ManagedCollisionEmbeddingTest, RemappedFeaturesComeBackIfAskedFor) {
  Context& ctx = this->ctx();
  auto mc = OneTable(ctx, Lru(3), true);
  const KeyedJaggedTensor kjt = Bags(ctx, {"a"}, {9, 9, 8}, {1, 2});
  EXPECT_THAT(mc.Forward(ctx, kjt).remapped_features->values().ToVector<int64_t>(),
              ElementsAre(2, 2, 2));
  auto silent = OneTable(ctx, Lru(3));
  EXPECT_FALSE(silent.Forward(ctx, kjt).remapped_features.has_value());
}

TEST_P(ManagedCollisionEmbeddingTest, SequencesAreRemappedTheSameWay) {
  Context& ctx = this->ctx();
  const std::vector<EmbeddingConfig> configs = {Table<EmbeddingConfig>("t", 4, {"a"})};
  ManagedCollisionEmbeddingCollection mc(std::make_unique<EmbeddingCollection>(ctx, configs),
                                         Collection({{"t", Lru(4)}}, configs), true);
  const KeyedJaggedTensor kjt = Bags(ctx, {"a"}, {-1000, 8, -1000}, {1, 2});
  const auto train = [&](const KeyedJaggedTensor& batch) {
    Tape tape(ctx);
    tape.Backward(Sum(ctx, mc.Forward(ctx, batch).embeddings[0].second.values()));
  };
  train(kjt);
  const auto out = mc.Forward(ctx, kjt);
  EXPECT_EQ(out.embeddings[0].first, "a");
  const auto rows = out.embeddings[0].second.values().value().ToVector<float>();
  EXPECT_EQ(rows[0], rows[4]);
  EXPECT_EQ(rows[0], rows[2]);  // row-wise Adagrad's first step
  const auto remapped = out.remapped_features->values().ToVector<int64_t>();
  EXPECT_NE(remapped[0], remapped[1]);
  train(Bags(ctx, {"a"}, {1, 2, 3}, {3}));  // all rows change hands
  train(Bags(ctx, {"a"}, {4}, {1}));
  const auto again = mc.Forward(ctx, kjt).embeddings[0].second.values().value().ToVector<float>();
  EXPECT_EQ(again[0], 0.5f);
}

struct Kind {
  std::string name;
  std::function<std::shared_ptr<ManagedCollisionModule>(Context&)> make;
  int64_t miss;          // the row of ids without one, or −1
  bool growing = false;  // the table
  Device device = Device::Cpu();
  std::string Name() const { return name + (device == Device::Cpu() ? "" : "_Cuda"); }

  ManagedCollisionEmbeddingBagCollection Tables(Context& ctx) const {
    return OneTable(ctx, make(ctx), false, growing);
  }
};

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds;
  for (const MchEviction eviction :
       {MchEviction::kLfu, MchEviction::kLru, MchEviction::kDistanceLfu})
    kinds.push_back(
        {ToString(eviction),
         [eviction](Context&) {
           return std::make_shared<MCHManagedCollisionModule>(MchOptions{
               .zch_size = 9, .eviction_policy = {.eviction = eviction}, .eviction_interval = 2});
         },
         8});
  for (const HashZchEviction eviction : {HashZchEviction::kSingleTtl, HashZchEviction::kLru})
    kinds.push_back({ToString(eviction),
                     [eviction](Context& ctx) {
                       return std::make_shared<HashZchManagedCollisionModule>(
                           ctx, HashZchOptions{.zch_size = 9,
                                               .max_probe = 5,
                                               .eviction = eviction,
                                               .single_ttl = 2,
                                               .clock = HashZchClock::kForwards,
                                               .disable_fallback = true});
                     },
                     -1});
  const auto index = [](Context&) {
    return std::make_shared<GrowingManagedCollisionModule>(
        GrowingIndexOptions{.max_rows = 8, .admit_after = 2});
  };
  kinds.push_back({"GROWING_INDEX", index, 0});
  kinds.push_back({"GROWING_TABLE", index, 0, true});
  const std::vector<Kind> on_cpu = kinds;
  for (const Device device : testing::AllDevices())
    for (Kind kind : on_cpu)
      if (device != Device::Cpu()) {
        kind.device = device;
        kinds.push_back(kind);
      }
  return kinds;
}

class SharedRowsTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(SharedRowsTest);

TEST_P(SharedRowsTest, IdsWithoutARowOfAGrowingIndexShareRowsByHash) {
  Context ctx({.device = GetParam(), .threads = 2});
  GrowingManagedCollisionModule module({.max_rows = 4, .shared_rows = 3});
  EXPECT_EQ(module.output_size(), 7);
  const auto rows_of = [&](const std::vector<int64_t>& ids, bool training) {
    const std::vector<Tensor> features = {Tensor::From(ctx, ids)};
    return module.Forward(ctx, features, training)[0].ToVector<int64_t>();
  };
  EXPECT_EQ(rows_of({50, -7, 50}, true), (std::vector<int64_t>{3, 4, 3}));
  EXPECT_EQ(module.rows_in_use(), 5);
  std::vector<int64_t> strangers(300);
  std::iota(strangers.begin(), strangers.end(), int64_t{1} << 40);
  const std::vector<int64_t> rows = rows_of(strangers, false);
  for (const int64_t row : {0, 1, 2})
    EXPECT_GT(std::count(rows.begin(), rows.end(), row), 60) << row;
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](int64_t row) { return row > 2; }), 0);
  EXPECT_EQ(rows_of(strangers, false), rows);
  rows_of({1, 2, 3, 4}, true);  // all rows are theirs now
  for (const int64_t row : module.Evict(ctx).ToVector<int64_t>()) EXPECT_GE(row, 3);
}

class LeakTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (on_gpu() && CudaDeviceCount() == 0)
      GTEST_SKIP() << "SKIPPED: this machine has no GPU; --config=emulated runs this without one";
  }
  static bool on_gpu() { return GetParam().device.type == DeviceType::kCuda; }
  static ContextOptions Options() { return {.device = GetParam().device, .threads = 1, .seed = 2}; }
};

// A row that an id reads holds what this id learned, or nothing: another may have had it since, and
// lost it. With gradients of 1, SGD of rate 1 and rows that start at 0, what was learned is minus the
// number of times the id was named.
TEST_P(LeakTest, NoIdReadsWhatAnotherLearned) {
  Context ctx(Options());
  std::vector<EmbeddingBagConfig> configs = {Table<EmbeddingBagConfig>("t", 9, {"a"})};
  configs[0].init_fn = ConstantRows(0);
  configs[0].optimizer = Sgd{1.0f};
  configs[0].growing = GetParam().growing;
  ManagedCollisionEmbeddingBagCollection mc(std::make_unique<EmbeddingBagCollection>(ctx, configs),
                                            Collection({{"t", GetParam().make(ctx)}}, configs),
                                            true);
  std::map<int64_t, int64_t> owner;  // of a row
  std::map<int64_t, float> learned;  // by a row's owner
  const int64_t miss = GetParam().miss;
  RawIds random(4);
  int64_t changes = 0, kept = 0;
  for (int step = 0; step < (on_gpu() ? 120 : 500); ++step) {
    const std::vector<int64_t> ids = random.Batch(1, 6, step / 20)[0];
    const KeyedJaggedTensor kjt = Bags(ctx, {"a"}, ids, std::vector<int64_t>(ids.size(), 1));
    Tape tape(ctx);
    auto out = mc.Forward(ctx, kjt);
    const auto rows = out.remapped_features->values().ToVector<int64_t>();
    const auto values = out.embeddings.values().value().ToVector<float>();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] == miss) continue;
      const auto [it, first] = owner.emplace(rows[i], ids[i]);
      if (!first && it->second != ids[i]) {
        it->second = ids[i];
        learned[rows[i]] = 0;
        ++changes;
      }
      if (values[2 * i] == 0) learned[rows[i]] = 0;
      ASSERT_EQ(values[2 * i], learned[rows[i]]) << step << " id " << ids[i];
      kept += values[2 * i] != 0;
    }
    tape.Backward(Sum(ctx, out.embeddings.values()));
    for (const int64_t row : rows)
      if (row != miss) learned[row] -= 1;
  }
  EXPECT_GT(changes, 0);
  EXPECT_GT(kept, on_gpu() ? 5 : 50);
}

TEST_P(LeakTest, ResumedTrainingHasTheSameBits) {
  Context a(Options()), b(Options());
  auto whole = GetParam().Tables(a), first = GetParam().Tables(b);
  std::optional<ManagedCollisionEmbeddingBagCollection> second;
  const int steps = on_gpu() ? 25 : 101;
  RawIds random(6);
  for (int step = 0; step < steps; ++step) {
    const std::vector<int64_t> ids = random.Batch(1, 6, step / 5)[0];
    const std::vector<int64_t> lengths(ids.size(), 1);
    TrainOn(a, whole, Bags(a, {"a"}, ids, lengths));
    TrainOn(b, second ? *second : first, Bags(b, {"a"}, ids, lengths));
    if (step != steps / 2) continue;
    second = GetParam().Tables(b);
    second->managed_collision_collection().LoadStateDict(
        b, first.managed_collision_collection().StateDict(b, "_mcc."), "_mcc.");
    TableBatchedEmbedding &from = first.embedding_bag_collection().tables(),
                          &to = second->embedding_bag_collection().tables();
    if (GetParam().growing) to.SetRowsInUse(b, 0, from.rows_in_use(0));
    to.weight(0).CopyFrom(b, from.weight(0));
    to.optimizer_states(0)[0].tensor.CopyFrom(b, from.optimizer_states(0)[0].tensor);
    to.set_iter(from.iter());
  }
  TableBatchedEmbedding &one = whole.embedding_bag_collection().tables(),
                        &two = second->embedding_bag_collection().tables();
  EXPECT_TRUE(SameBits(one.weight(0), two.weight(0)));
  EXPECT_TRUE(SameBits(one.optimizer_states(0)[0].tensor, two.optimizer_states(0)[0].tensor));
  const auto x = whole.managed_collision_collection().StateDict(a),
             y = second->managed_collision_collection().StateDict(b);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(SameBits(x[i].tensor, y[i].tensor)) << x[i].name;
}

TEST_P(LeakTest, StateGoesThroughACheckpointFile) {
  Context ctx(Options());
  auto mc = OneTable(ctx, GetParam().make(ctx)), read = OneTable(ctx, GetParam().make(ctx));
  RawIds random(7);
  for (int step = 0; step < 31; ++step) {
    const std::vector<int64_t> ids = random.Batch(1, 6, step)[0];
    TrainOn(ctx, mc, Bags(ctx, {"a"}, ids, std::vector<int64_t>(ids.size(), 1)));
  }
  const std::string path = ::testing::TempDir() + "/mc_" + GetParam().Name() + ".safetensors";
  const auto state = mc.managed_collision_collection().StateDict(ctx, "mc.");
  WriteCheckpoint(ctx, path, state, {}, "{}");
  const Checkpoint checkpoint = ReadCheckpoint(path);
  std::vector<NamedTensor> tensors;
  for (const CheckpointEntry& entry : checkpoint.tensors)
    tensors.push_back({entry.name, checkpoint.file->Read(ctx, entry.tensor)});
  read.managed_collision_collection().LoadStateDict(ctx, tensors, "mc.");
  const auto again = read.managed_collision_collection().StateDict(ctx, "mc.");
  ASSERT_EQ(again.size(), state.size());
  for (size_t i = 0; i < state.size(); ++i)
    EXPECT_TRUE(SameBits(state[i].tensor, again[i].tensor)) << state[i].name;
}

INSTANTIATE_TEST_SUITE_P(, LeakTest, ::testing::ValuesIn(Kinds()),
                         [](const auto& info) { return info.param.Name(); });

TEST(ManagedCollisionCollectionTest, StateHasTorchRecsNames) {
  Context ctx;
  auto mc = OneTable(ctx, Lru(3));
  const auto state =
      mc.managed_collision_collection().StateDict(ctx, "ec._managed_collision_collection.");
  EXPECT_EQ(state[0].name,
            "ec._managed_collision_collection._managed_collision_modules.t._mch_sorted_raw_ids");
  EXPECT_THAT(ErrorOf([&] { mc.managed_collision_collection().LoadStateDict(ctx, state); }),
              HasSubstr("is the state of no table"));
}

}  // namespace
}  // namespace tessera
