#include "bench/sparse/jagged_batch.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

// A KJT with all that it keeps of itself made, as one that has been used before.
KeyedJaggedTensor Warm(Context& ctx, KeyedJaggedTensorArgs args) {
  KeyedJaggedTensor kjt(std::move(args));
  kjt.Sync(ctx);
  return kjt;
}

KeyedJaggedTensor CopyOf(Context& ctx, const KeyedJaggedTensor& kjt) {
  return Warm(ctx, {.keys = kjt.keys(),
                    .values = kjt.values().Clone(ctx),
                    .lengths = kjt.lengths(ctx).Clone(ctx)});
}

Tensor DrawInts(Context& ctx, std::mt19937_64* random, int64_t n, int64_t low, int64_t high) {
  std::uniform_int_distribution<int64_t> draw(low, high);
  const Tensor numbers = Tensor::Empty(ctx, {n}, DType::kI64);
  for (int64_t& x : numbers.span<int64_t>()) x = draw(*random);
  return numbers;
}

int64_t Sum(const Tensor& t) {
  const auto numbers = t.span<int64_t>();
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}

}  // namespace

JaggedBatch::JaggedBatch(Context& ctx, int64_t num_keys, int64_t batch, int64_t lmax) {
  std::mt19937_64 random(3);
  for (int64_t f = 0; f < num_keys; ++f) keys.push_back("f" + std::to_string(f));
  lengths = DrawInts(ctx, &random, num_keys * batch, 1, lmax);
  values = DrawInts(ctx, &random, Sum(lengths), 0, kRows - 1);
  const Tensor weights = Tensor::Empty(ctx, {values.dim(0)});
  FillUniform(ctx, weights, 0, 1);
  kjt = Warm(ctx, {.keys = keys, .values = values, .lengths = lengths});
  weighted = Warm(ctx, {.keys = keys, .values = values, .weights = weights, .lengths = lengths});
  order.resize(static_cast<size_t>(num_keys));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (const KeyedJaggedTensor& half : kjt.Split(ctx, {num_keys / 2, num_keys - num_keys / 2}))
    halves.push_back(CopyOf(ctx, half));
  for (const auto& [key, jt] : kjt.ToDict(ctx))
    parts.emplace_back(key,
                       JaggedTensor(jt.values().value().Clone(ctx), jt.lengths(ctx).Clone(ctx)));
  block_sizes = Tensor::Full(ctx, {num_keys}, static_cast<double>((kRows + 3) / 4), DType::kI64);
}

void CheckSame(Context& ctx, const Tensor& expected, const Tensor& got, const char* what) {
  TESSERA_CHECK(SameBits(expected.Contiguous(ctx), got.Contiguous(ctx)),
                "{} {}: not those expected", what, got.shape());
}

void CheckKey(Context& ctx, const KeyedJaggedTensor& from, int64_t key, const JaggedTensor& got) {
  const JaggedTensor expected = from.AtIndex(ctx, key);
  CheckSame(ctx, expected.lengths(ctx), got.lengths(ctx), "lengths");
  CheckSame(ctx, expected.values(), got.values(), "values");
  CheckSame(ctx, expected.weights_or_none(), got.weights_or_none(), "weights");
}

void CheckKeys(Context& ctx, const KeyedJaggedTensor& from, const std::vector<int64_t>& order,
               const KeyedJaggedTensor& got) {
  TESSERA_CHECK_EQ(got.keys().size(), order.size(), "keys");
  for (size_t i = 0; i < order.size(); ++i) {
    TESSERA_CHECK_EQ(got.keys()[i], from.keys()[static_cast<size_t>(order[i])], "key {}", i);
    CheckKey(ctx, from, order[i], got.AtIndex(ctx, static_cast<int64_t>(i)));
  }
}

}  // namespace tessera::bench
