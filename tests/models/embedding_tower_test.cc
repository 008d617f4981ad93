// Towers, and towers over ranks against the same in one process on all ranks' examples.
#include "models/embedding_tower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "comm/local_communicator.h"
#include "models/layers/mlp.h"
#include "models/sharded_embedding_tower_collection.h"
#include "runtime/ops/shaping.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using Numbers = std::vector<int64_t>;

// Parameters 0.01, 0.02, …
template <typename Layer>
void SetCounting(Context& ctx, const Layer& layer) {
  for (const NamedParameter& p : layer.Parameters()) {
    std::vector<float> values(static_cast<size_t>(p.variable.value().numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i + 1);
    p.variable.value().CopyFrom(ctx, Tensor::From(ctx, p.variable.value().shape(), values));
  }
}

class PooledMlp final : public PooledInteraction {
 public:
  PooledMlp(Context& ctx, int64_t in, int64_t out) : mlp_(ctx, in, {out}) {
    SetCounting(ctx, mlp_);
  }
  Variable Forward(Context& ctx, const KeyedTensor& embeddings) const override {
    return mlp_.Forward(ctx, embeddings.values());
  }
  void AppendParameters(const std::string& prefix,
                        std::vector<NamedParameter>& out) const override {
    mlp_.AppendParameters(prefix, out);
  }

 private:
  Mlp mlp_;
};

// The first two rows of each sequence, side by side, through a layer.
class SequenceLinear final : public SequenceInteraction {
 public:
  SequenceLinear(Context& ctx, int64_t dim, int64_t out) : linear_(ctx, 2 * dim, out) {
    SetCounting(ctx, linear_);
  }
  Variable Forward(
      Context& ctx,
      const std::vector<std::pair<std::string, JaggedTensor>>& embeddings) const override {
    const Variable padded = embeddings[0].second.ToPaddedDense(ctx, 2);
    return linear_.Forward(
        ctx, Reshape(ctx, padded, {padded.value().dim(0), 2 * padded.value().dim(2)}));
  }
  void AppendParameters(const std::string& prefix,
                        std::vector<NamedParameter>& out) const override {
    linear_.AppendParameters(prefix, out);
  }

 private:
  LinearLayer linear_;
};

template <typename Config>
Config Table(const std::string& name, std::vector<std::string> features) {
  Config config;
  static_cast<BaseEmbeddingConfig&>(config) =
      testing::Counting(testing::SmallTable(name, 10, 3, Sgd{0.1f}));
  config.feature_names = std::move(features);
  return config;
}

std::unique_ptr<EmbeddingTower> MakePooled(Context& ctx, std::vector<std::string> features,
                                           bool weighted, int64_t out) {
  const auto in = 3 * static_cast<int64_t>(features.size());
  return std::make_unique<EmbeddingTower>(
      std::make_unique<EmbeddingBagCollection>(
          ctx, std::vector{Table<EmbeddingBagConfig>("t", std::move(features))},
          EmbeddingBagCollectionOptions{.is_weighted = weighted}),
      std::make_unique<PooledMlp>(ctx, in, out));
}

// Tower 0: pooled a and b. Tower 1: sequences of a. Tower 2: weighted c.
std::vector<TowerPlace> Places(const std::vector<int>& ranks) {
  return {{ranks[0],
           {"a", "b"},
           2,
           false,
           [](Context& ctx) {
             return MakePooled(ctx, {"a", "b"}, false, 2);
           }},
          {ranks[1],
           {"a"},
           3,
           false,
           [](Context& ctx) {
             return std::make_unique<EmbeddingTower>(
                 std::make_unique<EmbeddingCollection>(
                     ctx, std::vector{Table<EmbeddingConfig>("s", {"a"})}),
                 std::make_unique<SequenceLinear>(ctx, 3, 3));
           }},
          {ranks[2], {"c"}, 1, true, [](Context& ctx) { return MakePooled(ctx, {"c"}, true, 1); }}};
}

// Bags of `count` examples from `first` on, under the keys; the same for the same numbers.
KeyedJaggedTensor KjtOf(Context& ctx, const std::vector<std::string>& keys, int64_t first,
                        int64_t count, bool weighted) {
  Numbers values, lengths;
  for (size_t k = 0; k < keys.size(); ++k)
    for (int64_t b = first; b < first + count; ++b) {
      std::mt19937 random(static_cast<unsigned>(b) * 7 + static_cast<unsigned>(keys[k][0]));
      lengths.push_back(static_cast<int64_t>(random() % 4));
      for (int64_t n = lengths.back(); n > 0; --n)
        values.push_back(static_cast<int64_t>(random() % 10));
    }
  std::vector<float> weights;
  for (const int64_t value : values) weights.push_back(static_cast<float>(value) / 4);
  return KeyedJaggedTensor::FromLengthsSync(
      keys, Tensor::From(ctx, values), Tensor::From(ctx, lengths),
      weighted ? Variable(Tensor::From(ctx, weights)) : Variable());
}

// Rows [first, first + count) of a gradient, times `scale`.
Tensor GradientOf(Context& ctx, int64_t first, int64_t count, int64_t columns, float scale) {
  std::vector<float> values;
  for (int64_t i = first * columns; i < (first + count) * columns; ++i)
    values.push_back(scale * static_cast<float>(i % 13 - 6));
  return Tensor::From(ctx, {count, columns}, values);
}

class EmbeddingTowerTest : public testing::DeviceTest {};

// The outputs and gradients of one process that takes all examples in one step.
struct Whole {
  std::vector<float> outputs;
  std::vector<Tensor> weights;                 // of each tower's table
  std::vector<std::vector<Tensor>> gradients;  // of each tower's parameters
};

Whole TrainWhole(Context& ctx, int64_t examples, float scale) {
  std::vector<std::unique_ptr<EmbeddingTower>> towers;
  for (const TowerPlace& place : Places({0, 0, 0})) towers.push_back(place.make(ctx));
  EmbeddingTowerCollection collection(std::move(towers));
  const KeyedJaggedTensor plain = KjtOf(ctx, {"b", "a"}, 0, examples, false),
                          weighted = KjtOf(ctx, {"c"}, 0, examples, true);
  Whole whole;
  Tape tape(ctx);
  const Variable out = collection.Forward(ctx, &plain, &weighted);
  whole.outputs = out.value().ToVector<float>();
  tape.Backward(out, GradientOf(ctx, 0, examples, 6, scale));
  for (size_t t = 0; t < 3; ++t) {
    whole.weights.push_back(collection.tower(t).tables().weight(0).ToHost());
    whole.gradients.emplace_back();
    for (const NamedParameter& p : collection.tower(t).Parameters())
      whole.gradients.back().push_back(p.variable.grad().ToHost());
  }
  return whole;
}

TEST_P(EmbeddingTowerTest, ParametersHaveTorchRecsNames) {
  std::vector<std::unique_ptr<EmbeddingTower>> towers;
  for (const TowerPlace& place : Places({0, 0, 0})) towers.push_back(place.make(ctx()));
  EmbeddingTowerCollection collection(std::move(towers));
  EXPECT_EQ(collection.Parameters("m.")[0].name, "m.towers.0.interaction._mlp.0._linear.weight");
  EXPECT_EQ(collection.Parameters("m.")[2].name, "m.towers.1.interaction.weight");
  EXPECT_FALSE(collection.tower(0).is_weighted());
  EXPECT_TRUE(collection.tower(2).is_weighted());
  const KeyedJaggedTensor plain = KjtOf(ctx(), {"a", "b"}, 0, 2, false);
  EXPECT_THAT(testing::ErrorOf([&] { collection.Forward(ctx(), &plain); }),
              ::testing::HasSubstr("tower 2 takes weighted_features"));
}

TEST_P(EmbeddingTowerTest, OverRanksIsOneProcess) {
  const std::vector<std::vector<int>> layouts = {{0, 0, 0}, {1, 0, 1}, {2, 2, 0}};
  for (size_t l = 0; l < layouts.size(); ++l) {
    const int ranks = l == 2 ? 4 : l == 1 ? 2 : 1;  // powers of 2: 1/R is exact
    RunLocalRanks(ranks, [&](Communicator& comm) {
      Context ctx({.device = device(), .threads = 1});
      // Rank r has r + 1 examples.
      const int64_t r = comm.rank(), first = r * (r + 1) / 2, all = ranks * (ranks + 1) / 2;
      const Whole whole = TrainWhole(ctx, all, 1.0f / static_cast<float>(ranks));
      ShardedEmbeddingTowerCollection collection(ctx, comm, Places(layouts[l]));
      const KeyedJaggedTensor plain = KjtOf(ctx, {"b", "a"}, first, r + 1, false),
                              weighted = KjtOf(ctx, {"c"}, first, r + 1, true);
      Tape tape(ctx);
      const Variable out = collection.Forward(ctx, &plain, &weighted);
      const auto begin = whole.outputs.begin() + first * 6;
      EXPECT_EQ(out.value().ToVector<float>(), std::vector<float>(begin, begin + (r + 1) * 6));
      tape.Backward(out, GradientOf(ctx, first, r + 1, 6, 1));
      for (size_t t = 0; t < 3; ++t) {
        EmbeddingTower* tower = collection.tower(t);
        ASSERT_EQ(tower != nullptr, layouts[l][t] == r);
        if (tower == nullptr) continue;
        EXPECT_TRUE(SameBits(tower->tables().weight(0).ToHost(), whole.weights[t]));
        size_t i = 0;
        for (const NamedParameter& p : tower->Parameters())
          EXPECT_TRUE(SameBits(p.variable.grad().ToHost(), whole.gradients[t][i++])) << p.name;
      }
      comm.Barrier(ctx, "end of the test").Wait();
    });
  }
}

TESSERA_INSTANTIATE_DEVICES(EmbeddingTowerTest);

}  // namespace
}  // namespace tessera
