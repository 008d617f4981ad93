// Keys with batches of their own: FBGEMM's flat order, and TorchRec's inverse indices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "runtime/ops/arithmetic.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using testing::Counting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SmallTable;
using ::testing::ThrowsMessage;

class VariableBatchTest : public testing::DeviceTest {
 protected:
  KeyedJaggedTensor Kjt(const std::vector<int64_t>& ids, const std::vector<int64_t>& lengths,
                        StridePerKeyPerRank strides, InverseIndices inverse = {},
                        Variable weights = {}) {
    KeyedJaggedTensorArgs args;
    args.keys = {"a", "b"};
    args.values = Tensor::From(ctx(), ids);
    args.lengths = Tensor::From(ctx(), lengths);
    args.stride_per_key_per_rank = std::move(strides);
    args.inverse_indices = std::move(inverse);
    args.weights = weights;
    return KeyedJaggedTensor(args);
  }
  TableBatchedEmbedding Tables(std::vector<PoolingType> poolings,
                               TableBatchedEmbeddingOptions options = {}) {
    return TableBatchedEmbedding(ctx(),
                                 {Counting(SmallTable("t", 4, 2)), Counting(SmallTable("u", 4, 1))},
                                 poolings, {{"b", 1, "b"}, {"a", 0, "a"}}, options);
  }
};

TEST_P(VariableBatchTest, WithoutInverseIndicesRowsComeRankByRank) {
  TableBatchedEmbedding tables = Tables({PoolingType::kSum, PoolingType::kMean});
  // Key a: one bag from rank 0, two from rank 1; key b: two and none.
  const KeyedJaggedTensor kjt = Kjt({1, 3, 0, 2, 2, 3}, {1, 2, 0, 1, 2}, {{1, 2}, {2, 0}});
  Tape tape(ctx());
  const Variable out = tables.Forward(ctx(), kjt);
  EXPECT_EQ(out.shape(), (Shape{8}));
  EXPECT_THAT(out.value().ToVector<float>(), ElementsAre(2, 2.5f, 2, 3, 6, 8, 0, 0));
  tape.Backward(out, Tensor::From<float>(ctx(), {1, 4, 10, 20, 100, 200, 5, 5}));
  EXPECT_THAT(tables.weight(0).ToVector<float>(),
              ElementsAre(0 - 100, 1 - 200, 2 - 10, 3 - 20, 4, 5, 6 - 100, 7 - 200));
  EXPECT_THAT(tables.weight(1).ToVector<float>(), ElementsAre(0, 1, 2 - 3, 3 - 2));
}

TEST_P(VariableBatchTest, InverseIndicesSpreadBagsAndGatherTheirGradients) {
  TableBatchedEmbedding tables =
      Tables({PoolingType::kSum, PoolingType::kMean}, {.weighted = true});
  // Rows of the inverse indices are in an order of their own.
  const InverseIndices inverse = {{"b", "a"},
                                  Tensor::From<int64_t>(ctx(), {2, 3}, {0, 0, 0, 1, 0, 1})};
  const Variable weights(Tensor::From<float>(ctx(), {1, 1, 2, 1}), /*requires_grad=*/true);
  const KeyedJaggedTensor kjt = Kjt({1, 2, 3, 2}, {1, 1, 2}, {{2}, {1}}, inverse, weights);
  Tape tape(ctx());
  const Variable out = tables.Forward(ctx(), kjt);
  EXPECT_EQ(out.shape(), (Shape{3, 3}));
  EXPECT_THAT(out.value().ToVector<float>(), ElementsAre(4, 4, 5, 4, 2, 3, 4, 4, 5));
  tape.Backward(out, Tensor::From<float>(ctx(), {3, 3}, {1, 1, 2, 2, 10, 20, 5, 100, 200}));
  EXPECT_THAT(tables.weight(0).ToVector<float>(),
              ElementsAre(0, 1, 2 - 10, 3 - 20, 4 - 101, 5 - 202, 6, 7));
  EXPECT_THAT(tables.weight(1).ToVector<float>(), ElementsAre(0, 1, 2 - 4, 3 - 8));
  EXPECT_THAT(weights.grad().ToVector<float>(),
              ElementsAre(2 * 10 + 3 * 20, 4 * 101 + 5 * 202, 12, 8));
}

// A batch without repetitions gives the same as one with each example's bags written out.
TEST_P(VariableBatchTest, IsTheWholeBatchInOtherWords) {
  std::mt19937 random(3);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  constexpr int64_t kFull = 200, kDistinct[] = {3, 70};
  std::vector<int64_t> ids, lengths, inverse, full_ids, full_lengths;
  for (const int64_t bags : kDistinct) {
    std::vector<std::vector<int64_t>> bag(static_cast<size_t>(bags));
    for (auto& b : bag) {
      b.resize(static_cast<size_t>(below(4)));
      for (int64_t& id : b) ids.push_back(id = below(50));
      lengths.push_back(static_cast<int64_t>(b.size()));
    }
    for (int64_t b = 0; b < kFull; ++b) {
      const auto& read = bag[static_cast<size_t>(inverse.emplace_back(below(bags)))];
      full_ids.insert(full_ids.end(), read.begin(), read.end());
      full_lengths.push_back(static_cast<int64_t>(read.size()));
    }
  }
  const auto config = [](const char* name, int64_t dim, const char* feature) {
    EmbeddingBagConfig c;
    static_cast<BaseEmbeddingConfig&>(c) = SmallTable(name, 50, dim, Sgd{0.5f});
    c.init_fn = RowsFrom([](int64_t row, int64_t column) {
      return static_cast<float>((row * 7 + column * 3) % 11);
    });
    c.feature_names = {feature};
    return c;
  };
  const auto collection = [&] {
    return EmbeddingBagCollection(ctx(), {config("t", 5, "a"), config("u", 16, "b")});
  };
  EmbeddingBagCollection few = collection(), all = collection();
  const KeyedJaggedTensor kjt = Kjt(ids, lengths, {{kDistinct[0]}, {kDistinct[1]}},
                                    {{"a", "b"}, Tensor::From(ctx(), {2, kFull}, inverse)});
  const KeyedJaggedTensor whole = KeyedJaggedTensor::FromLengthsSync(
      {"a", "b"}, Tensor::From(ctx(), full_ids), Tensor::From(ctx(), full_lengths));
  std::vector<float> grads(kFull * 21);
  for (float& g : grads) g = static_cast<float>(below(9) - 4);
  const auto step = [&](EmbeddingBagCollection& ebc, const KeyedJaggedTensor& batch) {
    Tape tape(ctx());
    const Variable out = ebc.Forward(ctx(), batch).values();
    tape.Backward(out, Tensor::From(ctx(), {kFull, 21}, grads));
    return out.value();
  };
  // Numbers are whole, so that sums are exact in any order.
  EXPECT_TRUE(SameBits(step(few, kjt), step(all, whole)));
  for (int t = 0; t < 2; ++t) EXPECT_TRUE(SameBits(few.tables().weight(t), all.tables().weight(t)));
}

TEST_P(VariableBatchTest, SequencesKeepTheBatchesOfTheirKeys) {
  EmbeddingConfig config;
  static_cast<BaseEmbeddingConfig&>(config) = Counting(SmallTable("t", 4, 2));
  config.feature_names = {"a", "b"};
  EmbeddingCollection ec(ctx(), {config});
  const auto out = ec.Forward(ctx(), Kjt({1, 3, 0}, {1, 0, 2}, {{1}, {2}}));
  EXPECT_THAT(out[0].second.values().value().ToVector<float>(), ElementsAre(2, 3));
  EXPECT_THAT(out[1].second.values().value().ToVector<float>(), ElementsAre(6, 7, 0, 1));
  EXPECT_THAT(out[1].second.lengths(ctx()).ToVector<int64_t>(), ElementsAre(0, 2));
}

TEST_P(VariableBatchTest, FlatRowsAreNoKeyedTensor) {
  EmbeddingBagConfig config;
  static_cast<BaseEmbeddingConfig&>(config) = SmallTable("t", 4, 2);
  config.feature_names = {"a"};
  EmbeddingBagCollection ebc(ctx(), {config});
  EXPECT_THAT(
      [&] {
        ebc.Forward(ctx(), Kjt({}, {0, 0, 0}, {{1}, {2}}));
      },
      ThrowsMessage<Error>(HasSubstr("inverse indices")));
}

TESSERA_INSTANTIATE_DEVICES(VariableBatchTest);

}  // namespace
}  // namespace tessera
