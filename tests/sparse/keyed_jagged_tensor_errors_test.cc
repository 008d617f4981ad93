#include <gtest/gtest.h>

#include "sparse/keyed_jagged_tensor.h"
#include "tests/sparse/random_kjt.h"

namespace tessera {
namespace {

using ::testing::Test;
using Longs = std::vector<int64_t>;

class KjtErrorsTest : public Test {
 protected:
  Tensor Ids(const Longs& ids) { return Tensor::From(ctx_, ids); }

  // Well-formed: a = [[1] [2 3]], b = [[] [4]].
  KeyedJaggedTensorArgs Good() {
    KeyedJaggedTensorArgs args{.keys = {"a", "b"}, .values = Ids({1, 2, 3, 4})};
    args.lengths = Ids({1, 2, 0, 1});
    return args;
  }

  // Expects a refusal whose text has all of `parts`.
  void ExpectRefused(const KeyedJaggedTensorArgs& args, const std::vector<std::string>& parts) {
    ExpectError([&] { KeyedJaggedTensor kjt(args); }, parts);
  }

  void ExpectError(const std::function<void()>& fn, const std::vector<std::string>& parts) {
    try {
      fn();
      ADD_FAILURE() << "not refused: " << parts[0];
    } catch (const Error& error) {
      for (const std::string& part : parts)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << part << " in: " << error.what();
    }
  }

  Context ctx_;
};

TEST_F(KjtErrorsTest, TheGoodOneIsAccepted) { EXPECT_EQ(KeyedJaggedTensor(Good()).stride(), 2); }

TEST_F(KjtErrorsTest, Keys) {
  auto args = Good();
  args.keys = {"a", "a"};
  ExpectRefused(args, {"key \"a\" comes twice"});
  args.unique_keys = false;
  EXPECT_EQ(KeyedJaggedTensor(args).At(ctx_, "a").values().value().ToVector<int64_t>(),
            Longs{4});  // the last one
  args = Good();
  args.keys = {"a", "b", "c"};
  ExpectRefused(args, {"4 lengths are not divisible by 3 keys"});
  args.keys = {};
  ExpectRefused(args, {"lengths without keys"});
}

TEST_F(KjtErrorsTest, LengthsAndOffsets) {
  auto args = Good();
  args.lengths = {};
  ExpectRefused(args, {"neither lengths nor offsets"});
  args.lengths = Ids({1, 2, 2, -1});
  ExpectRefused(args, {"key \"b\"", "bag 1 has length -1"});
  args.lengths = Ids({1, 2, 0, 0});
  ExpectRefused(args, {"the sum of lengths is 3, and there are 4 values"});
  args.lengths = Ids({1, 2, 0, 2});
  ExpectRefused(args, {"key \"b\"", "the sum of lengths is 5, and there are 4 values"});
  args.lengths = Tensor::Zeros(ctx_, {4});
  ExpectRefused(args, {"lengths are f32"});
  args.lengths = Tensor::Zeros(ctx_, {4, 2}, DType::kI64).Narrow(1, 0, 1).Narrow(1, 0, 1);
  ExpectRefused(args, {"contiguous"});
  args.lengths = {};
  args.offsets = Ids({});
  ExpectRefused(args, {"offsets are empty"});
  args.offsets = Ids({1, 1, 3, 3, 4});
  ExpectRefused(args, {"first offset"});
  args.offsets = Ids({0, 1, 3, 2, 4});
  ExpectRefused(args, {"key \"b\"", "offsets fall at bag 0"});
  args.offsets = Ids({0, 1, 3, 3, 5});
  ExpectRefused(args, {"key \"b\"", "the last offset is 5"});
  args = Good();
  args.offsets = Ids({0, 1, 2, 3, 4});
  ExpectRefused(args, {"key \"a\"", "bag 1: lengths and offsets disagree"});
  args.offsets = Ids({0, 4});
  ExpectRefused(args, {"one more than lengths"});
}

TEST_F(KjtErrorsTest, ValuesAndWeights) {
  auto args = Good();
  args.values = {};
  ExpectRefused(args, {"no values"});
  args = Good();
  args.values = Tensor::Zeros(ctx_, {4, 2}, DType::kI64).Narrow(1, 0, 1);
  ExpectRefused(args, {"not contiguous"});
  args = Good();
  args.weights = Tensor::Zeros(ctx_, {3});
  ExpectRefused(args, {"weights [3] for 4 values"});
  args.weights = Tensor::Zeros(ctx_, {4, 2}).Narrow(1, 0, 1);
  ExpectRefused(args, {"not contiguous"});
  ExpectError([&] { KeyedJaggedTensor(Good()).weights(); }, {"no weights", "\"a\", \"b\""});
}

TEST_F(KjtErrorsTest, Strides) {
  auto args = Good();
  args.stride = 3;
  ExpectRefused(args, {"stride"});
  args = Good();
  args.stride_per_key_per_rank = {{2}, {1}};
  ExpectRefused(args, {"sum of stride_per_key_per_rank"});
  args.stride_per_key_per_rank = {{5}, {-1}};
  ExpectRefused(args, {"key \"b\"", "stride"});
  args.stride_per_key_per_rank = {{4}};
  ExpectRefused(args, {"one a key"});
  args.stride_per_key_per_rank = {{1, 1}, {2}};
  ExpectRefused(args, {"key \"b\"", "ranks"});
  args.stride_per_key_per_rank = {{3}, {1}};
  args.stride = 2;
  ExpectRefused(args, {"stride"});
}

TEST_F(KjtErrorsTest, InverseIndices) {
  auto args = Good();
  args.stride_per_key_per_rank = {{3}, {1}};
  args.inverse_indices = {{"a", "b"}, Tensor::From(ctx_, {2, 2}, Longs{0, 2, 0, 1})};
  ExpectRefused(args, {"key \"b\"", "inverse index 1 of example 1", "1 bags"});
  args.inverse_indices.indices = Tensor::From(ctx_, {2, 1}, Longs{-1, 0});
  ExpectRefused(args, {"key \"a\"", "inverse index -1"});
  args.inverse_indices = {{"a", "c"}, Tensor::Zeros(ctx_, {2, 1}, DType::kI64)};
  ExpectRefused(args, {"key \"b\" has no inverse indices"});
  args.inverse_indices = {{"a"}, Tensor::Zeros(ctx_, {2, 1}, DType::kI64)};
  ExpectRefused(args, {"keys and rows of inverse indices"});
  args.inverse_indices = {{"a", "b"}, Tensor::Zeros(ctx_, {2}, DType::kI64)};
  ExpectRefused(args, {"expected [F, B]"});
  ExpectError([&] { KeyedJaggedTensor(Good()).inverse_indices(); }, {"no inverse indices"});
}

TEST_F(KjtErrorsTest, Methods) {
  const KeyedJaggedTensor kjt(Good());
  ExpectError([&] { kjt.At(ctx_, "z"); }, {"no key \"z\"", "\"a\", \"b\""});
  ExpectError([&] { kjt.AtIndex(ctx_, 2); }, {"key 2 of 2"});
  ExpectError([&] { kjt.Split(ctx_, {1}); }, {"sum of segments"});
  ExpectError([&] { kjt.Split(ctx_, {3, -1}); }, {"segment 1"});
  ExpectError([&] { kjt.Permute(ctx_, {0, 2}); }, {"index 2 at position 1"});
  ExpectError([&] { kjt.DistSplits({1}); }, {"sum of key splits"});
  ExpectError([&] { kjt.DistSplits({-1, 3}); }, {"keys for rank 0"});
  std::vector<std::string> many = testing::KeyNames(30);
  const auto wide =
      KeyedJaggedTensor::FromLengthsSync(many, Ids({}), Tensor::Zeros(ctx_, {30}, DType::kI64));
  ExpectError([&] { wide.At(ctx_, "z"); }, {"(30 in all)"});
}

TEST_F(KjtErrorsTest, Concat) {
  const KeyedJaggedTensor kjt(Good());
  const auto with = [&](KeyedJaggedTensorArgs args) {
    args.keys = {"c", "d"};
    return [this, kjt, args] { KeyedJaggedTensor::Concat(ctx_, {kjt, KeyedJaggedTensor(args)}); };
  };
  with(Good())();
  ExpectError([&] { KeyedJaggedTensor::Concat(ctx_, {}); }, {"nothing"});
  ExpectError([&] { KeyedJaggedTensor::Concat(ctx_, {kjt, kjt}); }, {"key \"a\" comes twice"});
  auto args = Good();
  args.weights = Tensor::Zeros(ctx_, {4});
  ExpectError(with(args), {"tensor 1", "weighted"});
  args = Good();
  args.stride_per_key_per_rank = {{2}, {2}};
  ExpectError(with(args), {"tensor 1", "variable stride"});
  args = Good();
  args.lengths = Ids({4, 0});
  ExpectError(with(args), {"tensor 1", "stride"});
  args = Good();
  args.inverse_indices = {{"c", "d"}, Tensor::Zeros(ctx_, {2, 1}, DType::kI64)};
  ExpectError(with(args), {"tensor 1", "inverse indices"});
  args = Good();
  args.values = args.values.To(ctx_, DType::kI32);
  ExpectError(with(args), {"tensor 1", "values"});
  const JaggedTensor plain = kjt.At(ctx_, "a");
  const JaggedTensor weighted(Ids({1}), Ids({1}), {}, Tensor::Zeros(ctx_, {1}));
  ExpectError(
      [&] {
        KeyedJaggedTensor::FromJtDict(ctx_, {{"a", plain}, {"b", weighted}});
      },
      {"key \"b\"", "weighted"});
  ExpectError(
      [&] {
        KeyedJaggedTensor::FromJtDict(ctx_, {{"a", plain}, {"a", plain}});
      },
      {"key \"a\" comes twice"});
}

}  // namespace
}  // namespace tessera
