#include <gtest/gtest.h>

#include "sparse/keyed_jagged_tensor.h"
#include "tests/sparse/random_kjt.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using Longs = std::vector<int64_t>;

class KjtErrorsTest : public testing::DeviceTest {
 protected:
  Tensor Ids(const Longs& ids) { return Tensor::From(ctx(), ids); }

  // Well-formed: a = [[1] [2 3]], b = [[] [4]].
  KeyedJaggedTensorArgs Good() {
    KeyedJaggedTensorArgs args{.keys = {"a", "b"}, .values = Ids({1, 2, 3, 4})};
    args.lengths = Ids({1, 2, 0, 1});
    return args;
  }

  // Expects a refusal whose text has all of `parts`. A device checks its numbers when totals are
  // first asked for.
  void ExpectRefused(const KeyedJaggedTensorArgs& args, const std::vector<std::string>& parts) {
    ExpectError([&] { KeyedJaggedTensor(args).Sync(ctx()); }, parts);
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
};

TEST_P(KjtErrorsTest, TheGoodOneIsAccepted) { EXPECT_EQ(KeyedJaggedTensor(Good()).stride(), 2); }

TEST_P(KjtErrorsTest, Keys) {
  auto args = Good();
  args.keys = {"a", "a"};
  ExpectRefused(args, {"key \"a\" comes twice"});
  args.unique_keys = false;
  EXPECT_EQ(KeyedJaggedTensor(args).At(ctx(), "a").values().value().ToVector<int64_t>(),
            Longs{4});  // the last one
  args = Good();
  args.keys = {"a", "b", "c"};
  ExpectRefused(args, {"4 lengths are not divisible by 3 keys"});
  args.keys = {};
  ExpectRefused(args, {"lengths without keys"});
}

TEST_P(KjtErrorsTest, LengthsWhoseSumWrapsAround) {
  const int64_t quarter = int64_t{1} << 62;
  KeyedJaggedTensorArgs args{.keys = {"a"}, .values = Ids({1, 2})};
  args.lengths = Ids({quarter, quarter, quarter, quarter, 2});
  ExpectRefused(args, {"key \"a\": bag 0 has length 4611686018427387904, and there are 2 values"});
  args.lengths = Ids({1, 2});  // 1 | 2 is above 2, and the total alone is wrong
  ExpectRefused(args, {"the sum of lengths is 3, and there are 2 values"});
}

TEST_P(KjtErrorsTest, LengthsAndOffsets) {
  auto args = Good();
  args.lengths = {};
  ExpectRefused(args, {"neither lengths nor offsets"});
  args.lengths = Ids({1, 2, 2, -1});
  ExpectRefused(args, {"key \"b\"", "bag 1 has length -1"});
  args.lengths = Ids({1, 2, 0, 0});
  ExpectRefused(args, {"the sum of lengths is 3, and there are 4 values"});
  args.lengths = Ids({1, 2, 0, 2});
  ExpectRefused(args, {"key \"b\"", "the sum of lengths is 5, and there are 4 values"});
  args.lengths = Tensor::Zeros(ctx(), {4});
  ExpectRefused(args, {"lengths are f32"});
  args.lengths = Tensor::Zeros(ctx(), {4, 2}, DType::kI64).Narrow(1, 0, 1).Narrow(1, 0, 1);
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

TEST_P(KjtErrorsTest, LengthPerKey) {
  auto args = Good();
  args.length_per_key = {3, 1};
  EXPECT_EQ(KeyedJaggedTensor(args).offset_per_key(), (Longs{0, 3, 4}));
  args.length_per_key = {4};
  ExpectRefused(args, {"length_per_key, one a key"});
  args.length_per_key = {3, 2};
  ExpectRefused(args, {"the sum of length_per_key, and values"});
  if (!on_cpu()) return;  // lengths on a device are not read
  args.length_per_key = {1, 3};
  ExpectRefused(args, {"length_per_key is not that of the lengths"});
}

TEST_P(KjtErrorsTest, ValuesAndWeights) {
  auto args = Good();
  args.values = {};
  ExpectRefused(args, {"no values"});
  args = Good();
  args.values = Tensor::Zeros(ctx(), {4, 2}, DType::kI64).Narrow(1, 0, 1);
  ExpectRefused(args, {"values [4, 1]", "one dimension, contiguous"});
  args.values = Tensor::Zeros(ctx(), {4, 1}, DType::kI64);
  ExpectRefused(args, {"values [4, 1]", "one dimension"});
  args = Good();
  args.weights = Tensor::Zeros(ctx(), {3});
  ExpectRefused(args, {"weights [3] for values [4]"});
  args.weights = Tensor::Zeros(ctx(), {4, 2});
  ExpectRefused(args, {"weights [4, 2] for values [4]"});
  ExpectError([&] { KeyedJaggedTensor(Good()).weights(); }, {"no weights", "\"a\", \"b\""});
}

TEST_P(KjtErrorsTest, Strides) {
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

TEST_P(KjtErrorsTest, InverseIndices) {
  auto args = Good();
  args.stride_per_key_per_rank = {{3}, {1}};
  if (on_cpu()) {  // a device's indices are not looked at
    args.inverse_indices = {{"a", "b"}, Tensor::From(ctx(), {2, 2}, Longs{0, 2, 0, 1})};
    ExpectRefused(args, {"key \"b\"", "inverse index 1 of example 1", "1 bags"});
    args.inverse_indices.indices = Tensor::From(ctx(), {2, 1}, Longs{-1, 0});
    ExpectRefused(args, {"key \"a\"", "inverse index -1"});
  }
  args.inverse_indices = {{"a", "c"}, Tensor::Zeros(ctx(), {2, 1}, DType::kI64)};
  ExpectRefused(args, {"key \"b\" has no inverse indices"});
  args.inverse_indices = {{"a"}, Tensor::Zeros(ctx(), {2, 1}, DType::kI64)};
  ExpectRefused(args, {"keys and rows of inverse indices"});
  args.inverse_indices = {{"a", "b"}, Tensor::Zeros(ctx(), {2}, DType::kI64)};
  ExpectRefused(args, {"expected [F, B]"});
  ExpectError([&] { KeyedJaggedTensor(Good()).inverse_indices(); }, {"no inverse indices"});
}

TEST_P(KjtErrorsTest, Methods) {
  const KeyedJaggedTensor kjt(Good());
  ExpectError([&] { kjt.At(ctx(), "z"); }, {"no key \"z\"", "\"a\", \"b\""});
  ExpectError([&] { KeyedJaggedTensor().At(ctx(), "z"); }, {"no key \"z\"; it has none"});
  ExpectError([&] { kjt.AtIndex(ctx(), 2); }, {"key 2 of 2"});
  ExpectError([&] { kjt.Split(ctx(), {1}); }, {"sum of segments"});
  ExpectError([&] { kjt.Split(ctx(), {3, -1}); }, {"segment 1"});
  ExpectError([&] { kjt.Permute(ctx(), {0, 2}); }, {"index 2 at position 1"});
  ExpectError([&] { kjt.WithValues(Ids({1, 2, 3})); }, {"values in place of others"});
  ExpectError([&] { kjt.DistSplits({1}); }, {"sum of key splits"});
  ExpectError([&] { kjt.DistSplits({-1, 3}); }, {"keys for rank 0"});
  std::vector<std::string> many = testing::KeyNames(30);
  const auto wide =
      KeyedJaggedTensor::FromLengthsSync(many, Ids({}), Tensor::Zeros(ctx(), {30}, DType::kI64));
  ExpectError([&] { wide.At(ctx(), "z"); }, {"(30 in all)"});
}

TEST_P(KjtErrorsTest, Concat) {
  const KeyedJaggedTensor kjt(Good());
  const auto with = [&](KeyedJaggedTensorArgs args) {
    args.keys = {"c", "d"};
    return [this, kjt, args] { KeyedJaggedTensor::Concat(ctx(), {kjt, KeyedJaggedTensor(args)}); };
  };
  with(Good())();
  ExpectError([&] { KeyedJaggedTensor::Concat(ctx(), {}); }, {"nothing"});
  ExpectError([&] { KeyedJaggedTensor::Concat(ctx(), {kjt, kjt}); }, {"key \"a\" comes twice"});
  auto args = Good();
  args.weights = Tensor::Zeros(ctx(), {4});
  ExpectError(with(args), {"tensor 1", "weighted"});
  args = Good();
  args.stride_per_key_per_rank = {{2}, {2}};
  ExpectError(with(args), {"tensor 1", "variable stride"});
  args = Good();
  args.lengths = Ids({4, 0});
  ExpectError(with(args), {"tensor 1", "stride"});
  args = Good();
  args.inverse_indices = {{"c", "d"}, Tensor::Zeros(ctx(), {2, 1}, DType::kI64)};
  ExpectError(with(args), {"tensor 1", "inverse indices"});
  args = Good();
  args.values = args.values.To(ctx(), DType::kI32);
  ExpectError(with(args), {"tensor 1", "values"});
  const JaggedTensor plain = kjt.At(ctx(), "a");
  const JaggedTensor weighted(Ids({1}), Ids({1}), {}, Tensor::Zeros(ctx(), {1}));
  ExpectError(
      [&] {
        KeyedJaggedTensor::FromJtDict(ctx(), {{"a", plain}, {"b", weighted}});
      },
      {"key \"b\"", "weighted"});
  ExpectError(
      [&] {
        KeyedJaggedTensor::FromJtDict(ctx(), {{"a", plain}, {"a", plain}});
      },
      {"key \"a\" comes twice"});
}

TESSERA_INSTANTIATE_DEVICES(KjtErrorsTest);

}  // namespace
}  // namespace tessera
