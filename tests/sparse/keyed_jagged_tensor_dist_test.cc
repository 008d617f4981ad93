#include <gtest/gtest.h>

#include "runtime/ops/shaping.h"
#include "sparse/keyed_jagged_tensor.h"
#include "tests/sparse/random_kjt.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

class KjtDistTest : public testing::DeviceTest {};

using Longs = std::vector<int64_t>;
using testing::Plain;
using testing::PlainKjt;

TEST_P(KjtDistTest, Recat) {
  EXPECT_EQ(RecatIndices(2, 4, 1), (Longs{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(RecatIndices(2, 4, 2), (Longs{0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_TRUE(RecatIndices(0, 4).empty());
  EXPECT_THROW(RecatIndices(2, 4, 3), Error);
  EXPECT_THROW(RecatIndices(-1, 4), Error);
}

TEST_P(KjtDistTest, LabelsAndSplits) {
  Context& ctx = this->ctx();
  KeyedJaggedTensorArgs args{.keys = {"a", "b", "c"}, .values = Tensor::From(ctx, Longs{1, 2, 3})};
  args.lengths = Tensor::From(ctx, Longs{1, 0, 2, 0, 0, 0});
  EXPECT_EQ(KeyedJaggedTensor(args).DistLabels(), (std::vector<std::string>{"lengths", "values"}));
  EXPECT_EQ(KeyedJaggedTensor(args).DistSplits({1, 2}), (std::vector<Longs>{{2, 4}, {1, 2}}));
  args.weights = Tensor::Zeros(ctx, {3});
  args.stride_per_key_per_rank = {{1}, {2}, {3}};
  const KeyedJaggedTensor variable(args);
  EXPECT_EQ(variable.DistLabels(),
            (std::vector<std::string>{"lengths", "values", "strides", "weights"}));
  EXPECT_EQ(variable.DistSplits({0, 2, 1}),
            (std::vector<Longs>{{0, 3, 3}, {0, 3, 0}, {0, 2, 1}, {0, 3, 0}}));
  EXPECT_EQ(variable.DistTensors(ctx)[2].value().ToVector<int64_t>(), (Longs{1, 2, 3}));
}

// The arguments of rank `to` when every rank sends `key_splits[r]` keys to rank r.
KeyedJaggedTensorDistArgs Exchange(Context& ctx, const std::vector<KeyedJaggedTensor>& sent,
                                   const Longs& key_splits, size_t to) {
  KeyedJaggedTensorDistArgs args;
  args.ranks = static_cast<int64_t>(sent.size());
  args.variable_stride_per_key = sent[0].variable_stride_per_key();
  const Longs at = HostOffsets(key_splits);
  args.keys.assign(sent[0].keys().begin() + at[to], sent[0].keys().begin() + at[to + 1]);
  for (const KeyedJaggedTensor& kjt : sent) args.stride_per_rank.push_back(kjt.stride());
  for (size_t label = 0; label < sent[0].DistLabels().size(); ++label) {
    std::vector<Variable> pieces;
    for (const KeyedJaggedTensor& kjt : sent) {
      const Longs offsets = HostOffsets(kjt.DistSplits(key_splits)[label]);
      pieces.push_back(kjt.DistTensors(ctx)[label].value().Rows(offsets[to], offsets[to + 1]));
    }
    args.tensors.push_back(Concat(ctx, pieces, 0));
  }
  return args;
}

TEST_P(KjtDistTest, AllToAllJoinsTheBagsOfAllRanks) {
  Context& ctx = this->ctx();
  std::mt19937 random(13);
  const Longs key_splits = {2, 0, 3, 1};
  for (bool variable : {false, true})
    for (bool weighted : {false, true})
      for (int64_t stagger : {1, 2}) {
        std::vector<KeyedJaggedTensor> sent;
        for (int64_t r = 0; r < 4; ++r)
          sent.push_back(testing::RandomKjt(
              ctx, random,
              {.keys = 6, .batch = r + 1, .variable = variable, .weighted = weighted}));
        const std::vector<int64_t> order = stagger == 1 ? Longs{0, 1, 2, 3} : Longs{0, 2, 1, 3};
        int64_t first = 0;
        for (size_t to = 0; to < 4; ++to) {
          KeyedJaggedTensorDistArgs args = Exchange(ctx, sent, key_splits, to);
          args.stagger = stagger;
          const KeyedJaggedTensor received = KeyedJaggedTensorFromDist(ctx, args);
          PlainKjt expected;
          for (int64_t f = first; f < first + key_splits[to]; ++f) {
            expected.push_back({sent[0].keys()[static_cast<size_t>(f)], {}});
            for (int64_t r : order) {
              const PlainKjt plain = Plain(ctx, sent[static_cast<size_t>(r)]);
              for (const auto& bag : plain[static_cast<size_t>(f)].bags)
                expected.back().bags.push_back(bag);
            }
          }
          EXPECT_EQ(Plain(ctx, received), expected);
          EXPECT_EQ(received.is_weighted(), weighted);
          if (!variable) {
            EXPECT_EQ(received.stride(), 10);
          }
          first += key_splits[to];
        }
      }
}

TEST_P(KjtDistTest, StaggeredStridesOfVariableBatches) {
  Context& ctx = this->ctx();
  KeyedJaggedTensorDistArgs args{.keys = {"a"}, .ranks = 4, .stagger = 2};
  args.variable_stride_per_key = true;
  args.tensors = {Tensor::Zeros(ctx, {10}, DType::kI64), Tensor::Empty(ctx, {0}, DType::kI64),
                  Tensor::From(ctx, Longs{1, 2, 3, 4})};
  EXPECT_EQ(KeyedJaggedTensorFromDist(ctx, args).stride_per_key_per_rank(),
            (StridePerKeyPerRank{{1, 3, 2, 4}}));
}

TEST_P(KjtDistTest, RefusesWhatDoesNotFit) {
  Context& ctx = this->ctx();
  KeyedJaggedTensorDistArgs args{.keys = {"a"}, .ranks = 2};
  args.stride_per_rank = {1, 1};
  args.tensors = {Tensor::From(ctx, Longs{1, 1}), Tensor::From(ctx, Longs{5, 6})};
  EXPECT_EQ(KeyedJaggedTensorFromDist(ctx, args).stride(), 2);
  const auto refused = [&](auto change) {
    auto bad = args;
    change(bad);
    EXPECT_THROW(KeyedJaggedTensorFromDist(ctx, bad).Sync(ctx), Error);
  };
  refused([](auto& a) { a.tensors.pop_back(); });
  refused([](auto& a) { a.stride_per_rank = {1}; });
  refused([](auto& a) { a.stride_per_rank = {1, 2}; });
  refused([](auto& a) { a.stride_per_rank = {3, -1}; });
  refused([&](auto& a) { a.tensors[0] = Tensor::From(ctx, Longs{3, -1}); });
  refused([&](auto& a) { a.tensors[1] = Tensor::From(ctx, Longs{5}); });
  refused([&](auto& a) { a.tensors.push_back(Tensor::Zeros(ctx, {3})); });
  refused([&](auto& a) { a.variable_stride_per_key = true; });
}

TEST_P(KjtDistTest, WeightsCarryGradientsBack) {
  Context& ctx = this->ctx();
  KeyedJaggedTensorDistArgs args{.keys = {"a", "b"}, .ranks = 2};
  args.stride_per_rank = {1, 1};
  args.tensors = {Tensor::From(ctx, Longs{1, 2, 0, 1}), Tensor::From(ctx, Longs{5, 6, 7, 8})};
  testing::ExpectGradient(ctx,
                          [&](Context& c, const std::vector<Variable>& in) {
                            auto with = args;
                            with.tensors.push_back(in[0]);
                            return KeyedJaggedTensorFromDist(c, with).weights();
                          },
                          {testing::RandomTensor(ctx, {4})});
}

TESSERA_INSTANTIATE_DEVICES(KjtDistTest);

}  // namespace
}  // namespace tessera
