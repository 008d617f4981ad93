// Pools of rows and of bags, against maps on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "embedding/pools/keyed_jagged_tensor_pool.h"
#include "embedding/pools/tensor_pool.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using Numbers = std::vector<int64_t>;

class PoolsTest : public testing::DeviceTest {
 protected:
  Tensor Ids(const Numbers& ids) { return Tensor::From(ctx(), ids); }
};

TEST_P(PoolsTest, TensorPoolReturnsWhatWasWrittenLast) {
  for (const DType type : {DType::kI64, DType::kF32, DType::kF16, DType::kU8}) {
    TensorPool pool(ctx(), 10, 2, type);
    const auto rows = [&](const std::vector<float>& x) {
      return Tensor::From(ctx(), {static_cast<int64_t>(x.size()) / 2, 2}, x).To(ctx(), type);
    };
    pool.Update(ctx(), Ids({1, 9, 1}), rows({1, 2, 3, 4, 5, 6}));
    const Tensor read = pool.Lookup(ctx(), Ids({9, 0, 1, 9}));
    EXPECT_EQ(read.dtype(), type);
    EXPECT_THAT(read.To(ctx(), DType::kF32).ToVector<float>(), ElementsAre(3, 4, 0, 0, 5, 6, 3, 4));
    TensorPool other(ctx(), 10, 2, type);
    other.LoadStateDict(ctx(), pool.StateDict(ctx(), "p."), "p.");
    EXPECT_TRUE(SameBits(other.pool().ToHost(), pool.pool().ToHost()));
  }
}

TEST_P(PoolsTest, TensorPoolRefusesWhatDoesNotFit) {
  TensorPool pool(ctx(), 4, 2);
  EXPECT_THAT(ErrorOf([&] { pool.Lookup(ctx(), Ids({0, 4})); }), HasSubstr("id 4 at position 1"));
  EXPECT_THAT(ErrorOf([&] {
                pool.Update(ctx(), Ids({-1}), Tensor::Zeros(ctx(), {1, 2}));
              }),
              HasSubstr("id -1"));
  EXPECT_THAT(ErrorOf([&] {
                pool.Update(ctx(), Ids({1}), Tensor::Zeros(ctx(), {1, 3}));
              }),
              HasSubstr("TensorPool::Update: values [1, 3] of f32; expected [1, 2] of f32"));
  EXPECT_NE(ErrorOf([&] {
              pool.Update(ctx(), Ids({1}), Tensor::Zeros(ctx(), {1, 2}, DType::kI64));
            }),
            "");
  EXPECT_EQ(pool.Lookup(ctx(), Ids({})).shape(), (Shape{0, 2}));
  for (const EmbeddingLocation cached :
       {EmbeddingLocation::kManagedCaching, EmbeddingLocation::kDisk})
    EXPECT_THAT(ErrorOf([&] { TensorPool(ctx(), 4, 2, DType::kF32, cached); }),
                HasSubstr("a pool has no cache of rows"));
}

// bags[key][example], for the given keys.
KeyedJaggedTensor KjtOf(Context& ctx, const std::vector<std::string>& keys,
                        const std::vector<std::vector<Numbers>>& bags) {
  Numbers values, lengths;
  std::vector<float> weights;
  for (const auto& of_key : bags)
    for (const Numbers& bag : of_key) {
      lengths.push_back(static_cast<int64_t>(bag.size()));
      values.insert(values.end(), bag.begin(), bag.end());
    }
  for (const int64_t value : values) weights.push_back(static_cast<float>(value) / 4);
  return KeyedJaggedTensor::FromLengthsSync(keys, Tensor::From(ctx, values),
                                            Tensor::From(ctx, lengths), Tensor::From(ctx, weights));
}

TEST_P(PoolsTest, KeyedJaggedTensorPoolReturnsWhatWasWrittenLast) {
  std::mt19937 random(3);
  for (const bool weighted : {false, true}) {
    KeyedJaggedTensorPool pool(ctx(), 7, {{"b", 1}, {"a", 3}}, {.is_weighted = weighted});
    std::vector<std::vector<Numbers>> kept(2, std::vector<Numbers>(7));  // [b, a][id]
    for (int step = 0; step < 6; ++step) {
      // Keys of the batch: a, c, b.
      Numbers ids;
      std::vector<std::vector<Numbers>> bags(3);
      for (int i = 0; i < 4; ++i) {
        ids.push_back(static_cast<int64_t>(random() % 7));
        for (size_t k = 0; k < 3; ++k) {
          Numbers& bag = bags[k].emplace_back();
          for (auto n = random() % (k == 2 ? 2 : 4); n > 0; --n)
            bag.push_back(static_cast<int64_t>(random() % 100));
        }
        kept[0][static_cast<size_t>(ids.back())] = bags[2].back();
        kept[1][static_cast<size_t>(ids.back())] = bags[0].back();
      }
      pool.Update(ctx(), Ids(ids), KjtOf(ctx(), {"a", "c", "b"}, bags));
    }
    const Numbers asked = {6, 0, 6, 3, 1};
    std::vector<std::vector<Numbers>> expected(2);
    for (size_t k = 0; k < 2; ++k)
      for (const int64_t id : asked) expected[k].push_back(kept[k][static_cast<size_t>(id)]);
    KeyedJaggedTensorPool other(ctx(), 7, {{"b", 1}, {"a", 3}}, {.is_weighted = weighted});
    other.LoadStateDict(ctx(), pool.StateDict(ctx(), "p."), "p.");
    for (KeyedJaggedTensorPool* p : {&pool, &other}) {
      const KeyedJaggedTensor read = p->Lookup(ctx(), Ids(asked)),
                              all = KjtOf(ctx(), {"b", "a"}, expected);
      EXPECT_EQ(read.keys(), all.keys());
      EXPECT_EQ(read.values().ToVector<int64_t>(), all.values().ToVector<int64_t>());
      EXPECT_EQ(read.lengths(ctx()).To(ctx(), DType::kI64).ToVector<int64_t>(),
                all.lengths(ctx()).ToVector<int64_t>());
      ASSERT_EQ(read.is_weighted(), weighted);
      if (weighted) {
        EXPECT_TRUE(SameBits(read.weights().value().ToHost(), all.weights().value().ToHost()));
      }
    }
  }
}

TEST_P(PoolsTest, KeyedJaggedTensorPoolRefusesWhatDoesNotFit) {
  KeyedJaggedTensorPool pool(ctx(), 4, {{"a", 2}});
  EXPECT_THAT(ErrorOf([&] {
                pool.Update(ctx(), Ids({0, 1}), KjtOf(ctx(), {"a"}, {{{1}, {1, 2, 3}}}));
              }),
              HasSubstr("feature a has 3 values in example 1; at most 2 fit"));
  EXPECT_NE(ErrorOf([&] { pool.Update(ctx(), Ids({0}), KjtOf(ctx(), {"b"}, {{{1}}})); }), "");
  EXPECT_NE(ErrorOf([&] { pool.Update(ctx(), Ids({0, 1}), KjtOf(ctx(), {"a"}, {{{1}}})); }), "");
  EXPECT_NE(ErrorOf([&] { pool.Update(ctx(), Ids({4}), KjtOf(ctx(), {"a"}, {{{1}}})); }), "");
  EXPECT_EQ(pool.Lookup(ctx(), Ids({0, 1, 2, 3})).values().numel(), 0);
  EXPECT_NE(ErrorOf([&] { KeyedJaggedTensorPool(ctx(), 4, {{"a", 2}, {"a", 1}}); }), "");
}

TEST_P(PoolsTest, KeyedJaggedTensorPoolLoadsLengthsThatFitAlone) {
  KeyedJaggedTensorPool pool(ctx(), 2, {{"a", 2}, {"b", 1}});
  std::vector<NamedTensor> state = pool.StateDict(ctx());
  state[0].tensor = Tensor::From(ctx(), {2, 3}, Numbers{1, 2, 3, 4, 5, 6});
  // Columns of a wider tensor.
  const auto lengths = [&](const std::vector<int32_t>& with_more) {
    return Tensor::From(ctx(), {2, 3}, with_more).Narrow(1, 0, 2);
  };
  state[1].tensor = lengths({2, 1, 9, 0, 1, 9});
  pool.LoadStateDict(ctx(), state);
  state[1].tensor = lengths({2, 1, 9, 3, 0, 9});
  EXPECT_THAT(ErrorOf([&] { pool.LoadStateDict(ctx(), state); }),
              HasSubstr("key_lengths of example 1 say 3 values of feature a; at most 2 fit"));
  state[1].tensor = lengths({-1, 1, 9, 0, 0, 9});
  EXPECT_NE(ErrorOf([&] { pool.LoadStateDict(ctx(), state); }), "");
  state[1].name = "lengths";
  EXPECT_THAT(ErrorOf([&] { pool.LoadStateDict(ctx(), state); }),
              HasSubstr("key_lengths is missing"));
  const KeyedJaggedTensor read = pool.Lookup(ctx(), Ids({0, 1}));
  EXPECT_THAT(read.lengths(ctx()).ToVector<int32_t>(), ElementsAre(2, 0, 1, 1));
  EXPECT_THAT(read.values().ToVector<int64_t>(), ElementsAre(1, 2, 3, 4));
}

TESSERA_INSTANTIATE_DEVICES(PoolsTest);

}  // namespace
}  // namespace tessera
