// Pruning against a slow reference over random steps; rows start anew; a resumed run has the bits
// of one that never stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "embedding/itep/itep_embedding.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using Numbers = std::vector<int64_t>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kIds = 100, kRows = 12, kInterval = 7;

// FBGEMM's steps, one id at a time; a map holds the ids that have rows of their own.
struct Reference {
  std::map<int64_t, int64_t> row;
  std::map<int64_t, float> util;

  Reference() {
    for (int64_t id = 1; id < kRows; ++id) row[id] = id;
  }
  int64_t RowOf(int64_t id) const { return row.count(id) == 1 ? row.at(id) : 0; }

  // Prunes; returns the rows that changed hands.
  Numbers Prune(int64_t n) {
    Numbers moved;
    if (!((n < 10 && n % 3 == 2) || (n < 100 && n % 30 == 29) || (n < 1000 && n % 300 == 299) ||
          n % kInterval == kInterval - 1))
      return moved;
    if (n > kInterval)
      for (auto& [id, u] : util) u *= 0.98f;
    std::vector<float> samples;
    for (int64_t i = 0; i < kIds / 23; ++i)
      samples.push_back(util[std::min(kIds - 1, n % 23 + 23 * i)]);
    std::sort(samples.begin(), samples.end());
    // 88 of 100 ids have no row: place ⌊0.88 · 4⌋ of the samples.
    const float threshold = samples[3];
    std::vector<int64_t> losers, winners;
    for (int64_t id = 0; id < kIds; ++id) {
      if (util[id] <= threshold && row.count(id) == 1) losers.push_back(id);
      if (util[id] > threshold && row.count(id) == 0) winners.push_back(id);
    }
    for (size_t i = 0; i < losers.size() && i < winners.size(); ++i) {
      row[winners[i]] = row[losers[i]];
      row.erase(losers[i]);
      moved.push_back(row[winners[i]]);
    }
    std::sort(moved.begin(), moved.end());
    return moved;
  }

  void Count(int64_t n, const Numbers& ids) {
    if (n < 10 || (n < 100 && n % 19 == 18) || n % 39 == 38)
      for (const int64_t id : ids) util[id] += 1;
  }
};

// Ids round a place that moves slowly.
Numbers DrawIds(int64_t step) {
  std::mt19937 random(static_cast<unsigned>(step));
  Numbers ids;
  for (auto n = 20 + random() % 20; n > 0; --n)
    ids.push_back((step / 60 + static_cast<int64_t>(random() % 14 * (random() % 3))) % kIds);
  return ids;
}

BaseEmbeddingConfig TableConfig(const std::string& name, std::vector<std::string> features) {
  BaseEmbeddingConfig config =
      testing::Filled(testing::SmallTable(name, kRows, 2, RowwiseAdagrad{0.5f}), 1);
  config.feature_names = std::move(features);
  return config;
}

ItepOptions Options() {
  return {.table_name_to_unpruned_hash_sizes = {{"t", kIds}}, .pruning_interval = kInterval};
}

class ItepTest : public testing::DeviceTest {
 protected:
  // A batch with half of the ids under a, the others under b, in bags of several ids; c is not
  // pruned.
  KeyedJaggedTensor KjtOf(const Numbers& ids) {
    const auto n = static_cast<int64_t>(ids.size());
    Numbers values = {5, 3};
    values.insert(values.begin() + 1, ids.begin(), ids.end());
    return KeyedJaggedTensor::FromLengthsSync(
        {"c", "a", "b", "d"}, Tensor::From(ctx(), values),
        Tensor::From<int64_t>(ctx(), {1, n / 2, n - n / 2, 1}));
  }
  std::unique_ptr<ITEPEmbeddingBagCollection> MakeCollection(
      BoundsCheckMode mode = BoundsCheckMode::kFatal) {
    std::vector<BaseEmbeddingConfig> configs = {TableConfig("u", {"c"}),
                                                TableConfig("t", {"a", "b"})};
    std::vector<EmbeddingBagConfig> bags;
    for (const BaseEmbeddingConfig& c : configs) bags.push_back({c, PoolingType::kSum});
    return std::make_unique<ITEPEmbeddingBagCollection>(
        std::make_unique<EmbeddingBagCollection>(
            ctx(), bags, EmbeddingBagCollectionOptions{.bounds_check = mode}),
        std::make_unique<GenericITEPModule>(ctx(), configs, Options()));
  }
  void Step(ITEPEmbeddingBagCollection& collection, int64_t step) {
    Tape tape(ctx());
    const Variable out = collection.Forward(ctx(), KjtOf(DrawIds(step))).values();
    tape.Backward(out, Tensor::Full(ctx(), out.shape(), 0.25));
  }
};

TEST_P(ItepTest, EqualsASlowReference) {
  GenericITEPModule module(ctx(), {TableConfig("u", {"c"}), TableConfig("t", {"a", "b"})},
                           Options());
  Reference reference;
  int64_t handed_on = 0;
  for (int64_t step = 0; step < (on_cpu() ? 3000 : 60); ++step) {
    const Numbers ids = DrawIds(step);
    const Numbers moved = reference.Prune(step);
    Numbers expected = {5, 3};
    for (size_t i = 0; i < ids.size(); ++i)
      expected.insert(expected.end() - 1, reference.RowOf(ids[i]));
    reference.Count(step, ids);
    const KeyedJaggedTensor remapped = module.Forward(ctx(), KjtOf(ids), step, /*training=*/true);
    ASSERT_EQ(remapped.values().ToVector<int64_t>(), expected) << step;
    const std::vector<Tensor> rows = module.TakeHandedOn(ctx());
    ASSERT_EQ(rows[0].numel(), 0);
    ASSERT_EQ(rows[1].ToVector<int64_t>(), moved) << step;
    handed_on += rows[1].numel();
    // A forward that does not train changes nothing.
    module.Forward(ctx(), KjtOf(ids), step, /*training=*/false);
  }
  EXPECT_GT(handed_on, on_cpu() ? 50 : 3);
  const std::vector<NamedTensor> state = module.StateDict(ctx(), "x.");
  ASSERT_EQ(state[0].name, "x.t_itp_address_lookup");
  ASSERT_EQ(state[1].name, "x.t_itp_row_util");
  for (int64_t id = 0; id < kIds; ++id) {
    EXPECT_EQ(state[0].tensor.ToVector<int64_t>()[static_cast<size_t>(id)], reference.RowOf(id));
    EXPECT_EQ(state[1].tensor.ToVector<float>()[static_cast<size_t>(id)], reference.util[id]);
  }
}

TEST_P(ItepTest, RowsThatAreHandedOnStartAnew) {
  const auto collection = MakeCollection();
  TableBatchedEmbedding& tables = collection->collection().tables();
  bool any = false;
  for (int64_t step = 0; step < 9; ++step) {
    const Numbers before = collection->itep_module().StateDict(ctx())[0].tensor.ToVector<int64_t>();
    const std::vector<float> learned = tables.weight(1).ToVector<float>();
    {
      Tape tape(ctx());
      collection->Forward(ctx(), KjtOf(DrawIds(step)));  // no backward: rows as they are looked up
    }
    const Numbers after = collection->itep_module().StateDict(ctx())[0].tensor.ToVector<int64_t>();
    const std::vector<float> weights = tables.weight(1).ToVector<float>(),
                             state = tables.optimizer_states(1)[0].tensor.ToVector<float>();
    for (size_t id = 0; id < kIds; ++id) {
      const auto row = static_cast<size_t>(after[id]);
      if (row == 0) continue;
      if (after[id] != before[id]) {
        any = true;
        EXPECT_EQ(weights[2 * row], 1) << step;
        EXPECT_EQ(state[row], 0) << step;
      } else {
        EXPECT_EQ(weights[2 * row], learned[2 * row]) << step;
      }
    }
    Step(*collection, step);
  }
  EXPECT_TRUE(any);
}

TEST_P(ItepTest, AResumedRunHasTheSameBits) {
  const auto whole = MakeCollection(), resumed = MakeCollection();
  for (int64_t step = 0; step < 8; ++step) Step(*whole, step);
  TableBatchedEmbedding &from = whole->collection().tables(), &to = resumed->collection().tables();
  for (int t = 0; t < 2; ++t) {
    to.weight(t).CopyFrom(ctx(), from.weight(t));
    to.optimizer_states(t)[0].tensor.CopyFrom(ctx(), from.optimizer_states(t)[0].tensor);
  }
  to.set_iter(from.iter());
  resumed->LoadStateDict(ctx(), whole->StateDict(ctx(), "m."), "m.");
  EXPECT_EQ(resumed->iter(), 8);
  for (int64_t step = 8; step < 20; ++step) {
    Step(*whole, step);
    Step(*resumed, step);
  }
  for (int t = 0; t < 2; ++t) EXPECT_TRUE(SameBits(from.weight(t).ToHost(), to.weight(t).ToHost()));
  const std::vector<NamedTensor> a = whole->StateDict(ctx()), b = resumed->StateDict(ctx());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(SameBits(a[i].tensor.ToHost(), b[i].tensor.ToHost())) << a[i].name;
}

TEST_P(ItepTest, InverseIndicesCountEveryExample) {
  GenericITEPModule module(ctx(), {TableConfig("t", {"a"})}, Options());
  const KeyedJaggedTensor kjt(
      {.keys = {"a"},
       .values = Tensor::From<int64_t>(ctx(), {7, 9, 9}),
       .lengths = Tensor::From<int64_t>(ctx(), {1, 2}),
       .stride_per_key_per_rank = {{2}},
       .inverse_indices = {{"a"}, Tensor::From<int64_t>(ctx(), {1, 3}, {0, 1, 0})}});
  module.Forward(ctx(), kjt, 0, true);
  const std::vector<float> util = module.StateDict(ctx())[1].tensor.ToVector<float>();
  EXPECT_THAT(std::vector<float>(util.begin() + 6, util.begin() + 10), ElementsAre(0, 2, 0, 2));
}

TEST_P(ItepTest, BadInputIsRefused) {
  const auto collection = MakeCollection();
  EXPECT_THAT(testing::ErrorOf([&] {
                collection->Forward(ctx(), KjtOf({1, kIds}));
              }),
              HasSubstr("feature b of table t: id 100"));
  // In another mode such an id adds nothing.
  const auto lenient = MakeCollection(BoundsCheckMode::kWarning);
  EXPECT_TRUE(SameBits(lenient->Forward(ctx(), KjtOf({1, kIds})).values().value().ToHost(),
                       Tensor::From<float>(ctx(), {1, 6}, {1, 1, 1, 1, 0, 0}).ToHost()));
  EXPECT_EQ(testing::ErrorOf([&] { ITEPEmbeddingBagCollection(nullptr, nullptr); }),
            "ITEP: a collection is needed, got null");
  const auto error = [&](ItepOptions options, std::vector<BaseEmbeddingConfig> configs) {
    return testing::ErrorOf([&] { GenericITEPModule(ctx(), configs, options); });
  };
  EXPECT_THAT(error({{{"v", 100}}}, {TableConfig("t", {"a"})}), HasSubstr("no table v"));
  EXPECT_THAT(error({{{"t", 3}}}, {TableConfig("t", {"a"})}), HasSubstr("12 rows for 3 ids"));
  EXPECT_THAT(error({{{"t", 99}}}, {TableConfig("t", {"a"}), TableConfig("u", {"a"})}),
              HasSubstr("read by the tables t and u"));
  std::vector<NamedTensor> state = collection->StateDict(ctx());
  state[0].tensor = Tensor::Full(ctx(), {kIds}, 1, DType::kI64);
  EXPECT_THAT(testing::ErrorOf([&] { collection->LoadStateDict(ctx(), state); }),
              HasSubstr("row 1 of table t has two owners"));
}

TESSERA_INSTANTIATE_DEVICES(ItepTest);

}  // namespace
}  // namespace tessera
