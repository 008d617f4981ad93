#include "embedding/managed_collision/managed_collision_embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "runtime/graph.h"
#include "tests/embedding/managed_collision/managed_tables.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::Bags;
using testing::Collection;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Lru;
using testing::OneTable;
using testing::Table;
using testing::TrainOn;

class ManagedCollisionEmbeddingTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(ManagedCollisionEmbeddingTest);

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
  const std::shared_ptr<ManagedCollisionModule> module = Lru(4);
  EXPECT_THAT(ErrorOf([&] {
                Collection(
                    {{"t", module}, {"u", module}},
                    std::vector<EmbeddingBagConfig>{Table<EmbeddingBagConfig>("t", 4, {"a"}),
                                                    Table<EmbeddingBagConfig>("u", 4, {"b"})});
              }),
              HasSubstr("tables t and u have one module"));
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

// A replay would give it the ids of the recording anew.
TEST_P(ManagedCollisionEmbeddingTest, ATrainingForwardIsNotRecorded) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no graphs";
  Context& ctx = this->ctx();
  auto mc = OneTable(ctx, Lru(3));
  const KeyedJaggedTensor kjt = Bags(ctx, {"a"}, {9, 9, 8}, {1, 2});
  TrainOn(ctx, mc, kjt);
  EXPECT_THAT(ErrorOf([&] { CudaGraph::Capture(ctx, [&] { TrainOn(ctx, mc, kjt); }); }),
              HasSubstr("managed collision cannot be recorded in a CUDA graph: the host takes note "
                        "of each training forward"));
  TrainOn(ctx, mc, kjt);
}

// A replay would reset them again.
TEST_P(ManagedCollisionEmbeddingTest, RowsThatChangedHandsAreNotResetInARecording) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no graphs";
  Context& ctx = this->ctx();
  const HashZchOptions lru = {
      .zch_size = 2, .eviction = HashZchEviction::kLru, .clock = HashZchClock::kForwards};
  std::vector<EmbeddingBagConfig> configs = {Table<EmbeddingBagConfig>("t", 2, {"a"})};
  configs[0].init_fn = {};
  ManagedCollisionEmbeddingBagCollection mc(
      std::make_unique<EmbeddingBagCollection>(
          ctx, configs, EmbeddingBagCollectionOptions{.bounds_check = BoundsCheckMode::kNone}),
      Collection({{"t", std::make_shared<HashZchManagedCollisionModule>(ctx, lru)}}, configs));
  TrainOn(ctx, mc, Bags(ctx, {"a"}, {9, 8}, {2}));
  const KeyedJaggedTensor kjt = Bags(ctx, {"a"}, {7, 6}, {2});
  {
    Tape tape(ctx);
    mc.managed_collision_collection().Forward(ctx, kjt);
  }
  const auto capture = [&] { CudaGraph::Capture(ctx, [&] { mc.Forward(ctx, kjt); }); };
  EXPECT_THAT(ErrorOf(capture),
              HasSubstr("nothing can wait for cuda:0 while a CUDA graph is recorded"));
  mc.Forward(ctx, kjt);
  EXPECT_EQ(ErrorOf(capture), "");
  EXPECT_EQ(mc.managed_collision_collection().module("t").num_evicted(), 2);
}

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
