#include "sparse/keyed_jagged_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/sparse/random_kjt.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using Longs = std::vector<int64_t>;
using testing::AllKjtOptions;
using testing::Plain;
using testing::PlainKjt;
using testing::RandomKjt;
using testing::RandomKjtOptions;

KeyedJaggedTensor Tutorial(Context& ctx) {
  return KeyedJaggedTensor::FromLengthsSync({"product", "user"},
                                            Tensor::From(ctx, Longs{1, 2, 1, 5, 2, 3, 4, 1}),
                                            Tensor::From(ctx, Longs{3, 1, 2, 2}));
}

class KeyedJaggedTensorTest : public testing::DeviceTest {
 protected:
  // Calls fn with a random KJT of every kind.
  template <typename Fn>
  void ForEachKind(Fn fn) {
    std::mt19937 random(7);
    for (const RandomKjtOptions& options : AllKjtOptions()) {
      SCOPED_TRACE(Format("keys {} batch {} variable {} weighted {} offsets {} {}", options.keys,
                          options.batch, options.variable, options.weighted, options.by_offsets,
                          options.index));
      fn(ctx(), random, RandomKjt(ctx(), random, options));
    }
  }
};

TEST_P(KeyedJaggedTensorTest, TutorialExample) {
  Context& ctx = this->ctx();
  const KeyedJaggedTensor kjt = Tutorial(ctx);
  EXPECT_EQ(kjt.stride(), 2);
  EXPECT_EQ(kjt.stride_per_key(), (Longs{2, 2}));
  EXPECT_EQ(kjt.stride_per_key_per_rank(), (StridePerKeyPerRank{{2}, {2}}));
  EXPECT_EQ(kjt.length_per_key(), (Longs{4, 4}));
  EXPECT_EQ(kjt.offset_per_key(), (Longs{0, 4, 8}));
  EXPECT_EQ(kjt.lengths_offset_per_key(), (Longs{0, 2, 4}));
  EXPECT_EQ(kjt.index_per_key(), (std::map<std::string, int64_t>{{"product", 0}, {"user", 1}}));
  EXPECT_EQ(kjt.offsets(ctx).ToVector<int64_t>(), (Longs{0, 3, 4, 6, 8}));
  EXPECT_EQ(ToString(ctx, kjt),
            "KeyedJaggedTensor({\n    \"product\": [[1, 2, 1], [5]],\n    \"user\": [[2, 3], [4, "
            "1]]\n})\n");
  EXPECT_TRUE(kjt.Contains("user"));
  EXPECT_FALSE(kjt.Contains("x"));
  for (const int64_t likely : {-1, 0, 1, 2}) EXPECT_EQ(kjt.IndexOf("user", likely), 1);
  EXPECT_EQ(kjt.inverse_indices_or_none(), nullptr);
  const JaggedTensor user = kjt.At(ctx, "user");
  EXPECT_EQ(user.values().value().ToVector<int64_t>(), (Longs{2, 3, 4, 1}));
  EXPECT_EQ(user.offsets(ctx).ToVector<int64_t>(), (Longs{0, 2, 4}));
  EXPECT_EQ(user.values().value().raw_data(), kjt.values().Rows(4, 8).raw_data());
}

TEST_P(KeyedJaggedTensorTest, PermuteAndUnpermute) {
  ForEachKind([](Context& ctx, std::mt19937& random, const KeyedJaggedTensor& kjt) {
    Longs order(static_cast<size_t>(kjt.num_keys())), inverse(order.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i = 0; i < order.size(); ++i)
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    EXPECT_TRUE(KjtIsEqual(ctx, kjt.Permute(ctx, order).Permute(ctx, inverse), kjt));
  });
}

TEST_P(KeyedJaggedTensorTest, PermuteRepeatsAndDropsKeys) {
  ForEachKind([](Context& ctx, std::mt19937& random, const KeyedJaggedTensor& kjt) {
    const PlainKjt plain = Plain(ctx, kjt);
    Longs picks;
    PlainKjt expected;
    for (int i = 0; i < 9; ++i) {
      picks.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(kjt.num_keys())));
      expected.push_back(plain[static_cast<size_t>(picks.back())]);
    }
    const KeyedJaggedTensor permuted = kjt.Permute(ctx, picks);
    EXPECT_EQ(Plain(ctx, permuted), expected);
    EXPECT_EQ(permuted.stride(), kjt.stride());
    EXPECT_EQ(permuted.values().dtype(), kjt.values().dtype());
    EXPECT_EQ(kjt.Permute(ctx, {}).num_keys(), 0);
  });
}

TEST_P(KeyedJaggedTensorTest, SplitThenConcat) {
  ForEachKind([](Context& ctx, std::mt19937& random, const KeyedJaggedTensor& kjt) {
    Longs segments;
    for (int64_t left = kjt.num_keys(); left > 0;) {
      segments.push_back(static_cast<int64_t>(1 + random() % static_cast<uint64_t>(left)));
      left -= segments.back();
    }
    const std::vector<KeyedJaggedTensor> parts = kjt.Split(ctx, segments);
    EXPECT_TRUE(KjtIsEqual(ctx, KeyedJaggedTensor::Concat(ctx, parts), kjt));
    int64_t at = 0;
    for (const KeyedJaggedTensor& part : parts) {
      if (part.values().numel() > 0) {
        EXPECT_EQ(part.values().raw_data(), kjt.values().Rows(at, at + 1).raw_data());
      }
      EXPECT_EQ(part.stride(), kjt.stride());
      at += part.values().dim(0);
    }
  });
}

TEST_P(KeyedJaggedTensorTest, SplitWithEmptySegments) {
  Context& ctx = this->ctx();
  const std::vector<KeyedJaggedTensor> parts = Tutorial(ctx).Split(ctx, {0, 1, 0, 1});
  EXPECT_EQ(parts[0].num_keys(), 0);
  EXPECT_EQ(parts[0].stride(), 2);
  EXPECT_EQ(parts[0].offsets(ctx).ToVector<int64_t>(), Longs{0});
  EXPECT_EQ(parts[3].keys(), std::vector<std::string>{"user"});
  std::mt19937 random(3);
  const KeyedJaggedTensor variable = RandomKjt(ctx, random, {.variable = true});
  EXPECT_TRUE(variable.Split(ctx, {0, 4})[0].variable_stride_per_key());
  EXPECT_TRUE(KeyedJaggedTensor().Split(ctx, {}).empty());
}

TEST_P(KeyedJaggedTensorTest, DictThereAndBack) {
  ForEachKind([](Context& ctx, std::mt19937&, const KeyedJaggedTensor& kjt) {
    const auto dict = kjt.ToDict(ctx);
    ASSERT_EQ(static_cast<int64_t>(dict.size()), kjt.num_keys());
    for (const auto& [key, jt] : dict) EXPECT_TRUE(JtIsEqual(ctx, jt, kjt.At(ctx, key)));
    EXPECT_EQ(Plain(ctx, KeyedJaggedTensor::FromJtDict(ctx, dict)), Plain(ctx, kjt));
  });
  Context& ctx = this->ctx();
  EXPECT_EQ(KeyedJaggedTensor::FromJtDict(ctx, {}).num_keys(), 0);
}

TEST_P(KeyedJaggedTensorTest, OffsetsAndLengthsAgreeWhateverWasGiven) {
  ForEachKind([](Context& ctx, std::mt19937&, const KeyedJaggedTensor& kjt) {
    const Longs lengths = ToInt64(kjt.lengths(ctx));
    EXPECT_EQ(ToInt64(kjt.offsets(ctx)), HostOffsets(lengths));
    EXPECT_EQ(kjt.offset_per_key().back(), kjt.values().dim(0));
    EXPECT_EQ(kjt.lengths_offset_per_key().back(), static_cast<int64_t>(lengths.size()));
    kjt.Sync(ctx);
    EXPECT_TRUE(kjt.offsets_or_none().defined());
    kjt.Unsync(ctx);
    EXPECT_FALSE(kjt.offsets_or_none().defined());
  });
}

TEST_P(KeyedJaggedTensorTest, VariableStrides) {
  Context& ctx = this->ctx();
  KeyedJaggedTensorArgs args{.keys = {"a", "b"}, .values = Tensor::From(ctx, Longs{1, 2, 3})};
  args.lengths = Tensor::From(ctx, Longs{1, 0, 2});
  args.stride_per_key_per_rank = {{1, 1}, {0, 1}};
  const KeyedJaggedTensor kjt(args);
  EXPECT_EQ(kjt.stride(), 2);
  EXPECT_EQ(kjt.stride_per_key(), (Longs{2, 1}));
  EXPECT_EQ(kjt.length_per_key(), (Longs{1, 2}));
  EXPECT_EQ(kjt.At(ctx, "b").batch_size(), 1);
  args.inverse_indices = {{"b", "a"}, Tensor::From(ctx, {2, 3}, Longs{0, 0, 0, 1, 0, 1})};
  const KeyedJaggedTensor expanded(args);
  EXPECT_EQ(expanded.stride(), 3);
  EXPECT_EQ(expanded.inverse_indices().keys[0], "b");
  EXPECT_EQ(expanded.Permute(ctx, {1}).stride(), 3);
  EXPECT_EQ(expanded.Permute(ctx, {1}).inverse_indices_or_none(), nullptr);
  EXPECT_EQ(expanded.FlattenLengths().inverse_indices_or_none(), nullptr);
  EXPECT_FALSE(KjtIsEqual(ctx, kjt, expanded));
  EXPECT_EQ(KeyedJaggedTensor::EmptyLike(ctx, kjt).stride(), 0);
}

TEST_P(KeyedJaggedTensorTest, ConcatJoinsInverseIndices) {
  Context& ctx = this->ctx();
  const auto make = [&](const std::string& key) {
    KeyedJaggedTensorArgs args{.keys = {key}, .values = Tensor::From(ctx, Longs{1})};
    args.lengths = Tensor::From(ctx, Longs{1});
    args.stride_per_key_per_rank = {{1}};
    args.inverse_indices = {{key}, Tensor::Zeros(ctx, {1, 2}, DType::kI64)};
    return KeyedJaggedTensor(args);
  };
  const KeyedJaggedTensor joined = KeyedJaggedTensor::Concat(ctx, {make("a"), make("b")});
  EXPECT_EQ(joined.inverse_indices().keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(joined.inverse_indices().indices.shape(), (Shape{2, 2}));
}

TEST_P(KeyedJaggedTensorTest, EmptyOnes) {
  Context& ctx = this->ctx();
  EXPECT_EQ(ToString(ctx, KeyedJaggedTensor()), "KeyedJaggedTensor()\n");
  EXPECT_EQ(KeyedJaggedTensor().stride(), 0);
  EXPECT_EQ(KeyedJaggedTensor().offset_per_key(), Longs{0});
  EXPECT_TRUE(KeyedJaggedTensor().ToDict(ctx).empty());
  const KeyedJaggedTensor empty =
      KeyedJaggedTensor::Empty(ctx, true, DType::kI32, DType::kF16, DType::kI64);
  EXPECT_EQ(empty.values().dtype(), DType::kI32);
  EXPECT_TRUE(empty.ToDict(ctx).empty());
  const KeyedJaggedTensor like = KeyedJaggedTensor::EmptyLike(ctx, Tutorial(ctx));
  EXPECT_EQ(like.stride(), 2);
  EXPECT_FALSE(like.is_weighted());
  EXPECT_EQ(like.lengths(ctx).dtype(), DType::kI64);
}

TEST_P(KeyedJaggedTensorTest, ToConvertsWeightsAlone) {
  Context& ctx = this->ctx();
  std::mt19937 random(5);
  const KeyedJaggedTensor kjt = RandomKjt(ctx, random), half = kjt.To(ctx, DType::kF16);
  EXPECT_EQ(half.weights().value().dtype(), DType::kF16);
  EXPECT_TRUE(KjtIsEqual(ctx, half.To(ctx, DType::kF32), kjt));  // multiples of 1/8 survive
  EXPECT_EQ(Tutorial(ctx).To(ctx, DType::kF16).weights_or_none().defined(), false);
}

TEST_P(KeyedJaggedTensorTest, WithValuesChangesNothingElse) {
  ForEachKind([](Context& ctx, std::mt19937&, const KeyedJaggedTensor& kjt) {
    const Tensor ones = Tensor::Full(ctx, kjt.values().shape(), 1, DType::kI32);
    const KeyedJaggedTensor other = kjt.WithValues(ones);
    EXPECT_TRUE(SameBits(other.values(), ones));
    EXPECT_TRUE(KjtIsEqual(ctx, other.WithValues(kjt.values()), kjt));
  });
}

TEST_P(KeyedJaggedTensorTest, TwoDimensionalLengthsAreFlattened) {
  Context& ctx = this->ctx();
  const auto kjt = KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx, Longs{1, 2, 3}),
                                                      Tensor::From(ctx, {2, 2}, Longs{1, 0, 0, 2}));
  EXPECT_EQ(kjt.FlattenLengths().lengths(ctx).shape(), Shape{4});
}

TEST_P(KeyedJaggedTensorTest, ValidateFindsTheBadId) {
  Context& ctx = this->ctx();
  const KeyedJaggedTensor kjt = Tutorial(ctx);
  std::string problem;
  EXPECT_TRUE(kjt.Validate(ctx, {}));
  EXPECT_TRUE(kjt.Validate(ctx, {{"product", 6}, {"user", 5}}, &problem));
  EXPECT_EQ(problem, "");
  EXPECT_FALSE(kjt.Validate(ctx, {{"product", 6}, {"user", 4}}, &problem));
  EXPECT_EQ(problem, "key \"user\", bag 1: id 4 is outside [0, 4)");
  const auto negative = KeyedJaggedTensor::FromLengthsSync(
      {"a"}, Tensor::From(ctx, std::vector<int32_t>{3, -1}), Tensor::From(ctx, Longs{0, 2}));
  EXPECT_FALSE(negative.Validate(ctx, {{"a", 10}}, &problem));
  EXPECT_EQ(problem, "key \"a\", bag 1: id -1 is outside [0, 10)");
  EXPECT_FALSE(negative.Validate(ctx, {{"a", 10}}));
  EXPECT_FALSE(negative.Validate(ctx, {{"a", 0}}));
  EXPECT_THROW(kjt.Validate(ctx, {{"x", 1}}), Error);
  const auto floats = KeyedJaggedTensor::FromLengthsSync({"a"}, Tensor::Zeros(ctx, {1}),
                                                         Tensor::From(ctx, Longs{1}));
  EXPECT_THROW(floats.Validate(ctx, {{"a", 1}}), Error);
}

TEST_P(KeyedJaggedTensorTest, GradientsOfWeightsFlowThroughEverything) {
  Context& ctx = this->ctx();
  std::mt19937 random(11);
  for (bool variable : {false, true}) {
    const KeyedJaggedTensor kjt =
        RandomKjt(ctx, random, {.keys = 3, .batch = 3, .variable = variable});
    const auto with = [&](const Variable& weights) {
      KeyedJaggedTensorArgs args{.keys = kjt.keys(), .values = kjt.values(), .weights = weights};
      args.lengths = kjt.lengths(ctx);
      if (variable) args.stride_per_key_per_rank = kjt.stride_per_key_per_rank();
      return KeyedJaggedTensor(std::move(args));
    };
    using Variables = std::vector<Variable>;
    const std::vector<Tensor> inputs = {testing::RandomTensor(ctx, kjt.weights().shape())};
    const auto check = [&](const testing::DifferentiableFunction& fn) {
      testing::ExpectGradients(ctx, fn, inputs);
    };
    check([&](Context& c, const Variables& in) {
      return Variables{with(in[0]).Permute(c, {2, 0, 2}).weights()};
    });
    check([&](Context& c, const Variables& in) {
      Variables weights;
      for (const auto& part : with(in[0]).Split(c, {1, 0, 2})) weights.push_back(part.weights());
      return weights;
    });
    check([&](Context& c, const Variables& in) {
      return Variables{with(in[0]).At(c, "f1").weights()};
    });
    check([&](Context& c, const Variables& in) {
      return Variables{KeyedJaggedTensor::Concat(c, with(in[0]).Split(c, {2, 1})).weights()};
    });
    check([&](Context& c, const Variables& in) {
      return Variables{KeyedJaggedTensor::FromJtDict(c, with(in[0]).ToDict(c)).weights()};
    });
    check([&](Context& c, const Variables& in) {
      return Variables{with(in[0]).To(c, DType::kF64).To(c, DType::kF32).weights()};
    });
  }
}

TESSERA_INSTANTIATE_DEVICES(KeyedJaggedTensorTest);

}  // namespace
}  // namespace tessera
