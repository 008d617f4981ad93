#include "embedding/pools/bag_rows.h"

#include <algorithm>

#include "sparse/ops/cumsum.h"
#include "sparse/ops/row_runs.h"
#include "sparse/ops/segments.h"

namespace tessera {
namespace {

// `values`, with `padding` zeros behind them.
Tensor Padded(Context& ctx, const Tensor& values, int64_t padding) {
  Tensor joined = Tensor::Empty(ctx, {values.dim(0) + padding}, values.dtype());
  joined.Rows(0, values.dim(0)).CopyFrom(ctx, values);
  joined.Rows(values.dim(0), joined.dim(0)).Fill(ctx, 0);
  return joined;
}

// The number of piece `key` of example i, among pieces that lie example by example, and key by key.
// The last of F + 1 keys is the padding.
int64_t ByExample(int64_t i, int64_t key, int64_t keys) { return i * (keys + 1) + key; }
int64_t ByKey(int64_t i, int64_t key, int64_t examples) { return key * examples + i; }

}  // namespace

BagRowLayout::BagRowLayout(FeatureMaxLengths feature_max_lengths, DType values_dtype,
                           bool is_weighted)
    : features_(std::move(feature_max_lengths)),
      values_dtype_(values_dtype),
      is_weighted_(is_weighted) {
  TESSERA_CHECK(!features_.empty(), "KeyedJaggedTensorPool: no features");
  for (const auto& [key, length] : features_) {
    TESSERA_CHECK_GE(length, 0, "KeyedJaggedTensorPool: the longest bag of feature {}", key);
    TESSERA_CHECK(std::find(keys_.begin(), keys_.end(), key) == keys_.end(),
                  "KeyedJaggedTensorPool: feature {} comes twice", key);
    keys_.push_back(key);
    row_length_ += length;
  }
}

void BagRowLayout::CheckBatch(const KeyedJaggedTensor& kjt) const {
  TESSERA_CHECK(!kjt.variable_stride_per_key(),
                "KeyedJaggedTensorPool: keys with batches of their own");
  TESSERA_CHECK_EQ(kjt.values().dtype(), values_dtype_,
                   "KeyedJaggedTensorPool: type of the values");
  TESSERA_CHECK(
      !is_weighted_ || (kjt.is_weighted() && kjt.weights().value().dtype() == DType::kF32),
      "KeyedJaggedTensorPool: a weighted pool takes values with weights of f32");
}

Tensor BagRowLayout::RowLengths(Context& ctx, const KeyedJaggedTensor& kjt) const {
  const std::vector<int64_t> lengths = ToInt64(kjt.lengths(ctx).ToHost());
  const int64_t n = kjt.stride(), keys = num_keys();
  const Tensor rows = Tensor::EmptyHost({n, keys + 1}, DType::kI32);
  auto* out = rows.data<int32_t>();
  for (int64_t i = 0; i < n; ++i) {
    int64_t padding = row_length_;
    for (int64_t key = 0; key < keys; ++key) {
      const int64_t length = lengths[static_cast<size_t>(ByKey(i, key, n))];
      const auto& [name, most] = features_[static_cast<size_t>(key)];
      TESSERA_CHECK(length <= most,
                    "KeyedJaggedTensorPool: feature {} has {} values in example {}; at most {} fit",
                    name, length, i, most);
      out[ByExample(i, key, keys)] = static_cast<int32_t>(length);
      padding -= length;
    }
    out[ByExample(i, keys, keys)] = static_cast<int32_t>(padding);
  }
  return rows;
}

BagRows BagRowLayout::Pack(Context& ctx, const KeyedJaggedTensor& given) const {
  CheckBatch(given);
  std::vector<int64_t> order;
  for (const std::string& key : keys_) order.push_back(given.IndexOf(key));
  const KeyedJaggedTensor kjt = given.Permute(ctx, order);
  const Tensor lengths = RowLengths(ctx, kjt);
  const int64_t n = kjt.stride(), keys = num_keys();
  // The padding of all examples lies behind the values, as one more key.
  std::vector<int64_t> offsets = {0}, picks;
  const std::span<const int32_t> row_lengths = lengths.span<int32_t>();
  for (int64_t key = 0; key <= keys; ++key)
    for (int64_t i = 0; i < n; ++i)
      offsets.push_back(offsets.back() + row_lengths[static_cast<size_t>(ByExample(i, key, keys))]);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t key = 0; key <= keys; ++key) picks.push_back(ByKey(i, key, n));
  const SegmentSelection selection(ctx, offsets, picks);
  const auto row_of = [&](const Tensor& t) {
    const Tensor source = Padded(ctx, t, selection.source_rows() - t.dim(0));
    return selection.Gather(ctx, source).Reshape({n, row_length_});
  };
  return {row_of(kjt.values()), lengths.To(ctx, ctx.device()),
          is_weighted_ ? row_of(kjt.weights().value()) : Tensor()};
}

KeyedJaggedTensor BagRowLayout::Unpack(Context& ctx, const BagRows& rows) const {
  const int64_t n = rows.values.dim(0), keys = num_keys(), pieces = n * (keys + 1);
  std::vector<int64_t> order;
  for (int64_t key = 0; key < keys; ++key)
    for (int64_t i = 0; i < n; ++i) order.push_back(ByExample(i, key, keys));
  const Tensor picks = Tensor::From(ctx, order), lengths = rows.lengths.Reshape({pieces}),
               offsets = CompleteCumsum(ctx, lengths.To(ctx, DType::kI64));
  const SegmentSelection selection(ctx, offsets, pieces, n * row_length_, picks);
  const auto bags_of = [&](const Tensor& t) {
    return selection.Gather(ctx, t.Reshape({n * row_length_}));
  };
  return KeyedJaggedTensor({.keys = keys_,
                            .values = bags_of(rows.values),
                            .weights = is_weighted_ ? Variable(bags_of(rows.weights)) : Variable(),
                            .lengths = TakeRows(ctx, lengths, picks),
                            .stride = n});
}

BagRows BagRowLayout::Zeros(Context& ctx, int64_t n) const {
  const Tensor lengths = Tensor::Zeros(ctx, {n, num_keys() + 1}, DType::kI32);
  lengths.Narrow(1, num_keys(), 1).Fill(ctx, static_cast<double>(row_length_));
  return {Tensor::Zeros(ctx, {n, row_length_}, values_dtype_), lengths,
          is_weighted_ ? Tensor::Zeros(ctx, {n, row_length_}) : Tensor()};
}

}  // namespace tessera
