// Split, permute, concat: new KeyedJaggedTensors from old ones. The results are well-formed because
// the inputs are, so they are not checked again.
#include <algorithm>
#include <utility>

#include "runtime/ops/shaping.h"
#include "sparse/keyed_jagged_tensor.h"
#include "sparse/keyed_jagged_tensor_build.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

using internal::KjtState;

template <typename T>
std::vector<T> Slice(const std::vector<T>& all, int64_t begin, int64_t end) {
  return all.empty() ? all : std::vector<T>(all.begin() + begin, all.begin() + end);
}

template <typename T>
std::vector<T> Pick(const std::vector<T>& all, const std::vector<int64_t>& indices) {
  std::vector<T> picked;
  if (all.empty()) return picked;
  picked.reserve(indices.size());
  for (int64_t i : indices) picked.push_back(all[static_cast<size_t>(i)]);
  return picked;
}

template <typename T>
void Append(std::vector<T>* all, const std::vector<T>& more) {
  all->insert(all->end(), more.begin(), more.end());
}

// Throws unless all of `parts` are like the first.
void CheckAlike(const std::vector<KeyedJaggedTensor>& parts) {
  const KeyedJaggedTensor& first = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const KeyedJaggedTensor& part = parts[i];
    TESSERA_CHECK_EQ(part.values().dtype(), first.values().dtype(),
                     "KeyedJaggedTensor::Concat: tensor {}: values", i);
    TESSERA_CHECK_EQ(part.is_weighted(), first.is_weighted(),
                     "KeyedJaggedTensor::Concat: tensor {}: weighted, as the first is", i);
    TESSERA_CHECK_EQ(part.variable_stride_per_key(), first.variable_stride_per_key(),
                     "KeyedJaggedTensor::Concat: tensor {}: variable stride, as the first has", i);
    if (!part.variable_stride_per_key())
      TESSERA_CHECK_EQ(part.stride(), first.stride(),
                       "KeyedJaggedTensor::Concat: tensor {}: stride, as of the first", i);
    TESSERA_CHECK_EQ(part.inverse_indices_or_none() != nullptr,
                     first.inverse_indices_or_none() != nullptr,
                     "KeyedJaggedTensor::Concat: tensor {}: inverse indices, as the first has", i);
  }
}

// Joins get(part) of all parts along the first dimension.
template <typename Get>
Variable Join(Context& ctx, const std::vector<KeyedJaggedTensor>& parts, Get get) {
  std::vector<Variable> all;
  all.reserve(parts.size());
  for (const KeyedJaggedTensor& part : parts) all.push_back(get(part));
  return tessera::Concat(ctx, all, 0);
}

InverseIndices JoinInverseIndices(Context& ctx, const std::vector<KeyedJaggedTensor>& parts) {
  if (parts[0].inverse_indices_or_none() == nullptr) return {};
  InverseIndices joined;
  for (const KeyedJaggedTensor& part : parts) Append(&joined.keys, part.inverse_indices().keys);
  joined.indices =
      Join(ctx, parts, [](const auto& p) { return p.inverse_indices().indices; }).value();
  return joined;
}

}  // namespace

std::vector<KeyedJaggedTensor> KeyedJaggedTensor::Split(
    Context& ctx, const std::vector<int64_t>& segments) const {
  FindTotals(ctx);
  std::vector<int64_t> key_offsets = HostOffsets(segments), lengths_of;
  for (size_t i = 0; i < segments.size(); ++i)
    TESSERA_CHECK_GE(segments[i], 0, "KeyedJaggedTensor::Split: segment {}", i);
  TESSERA_CHECK_EQ(key_offsets.back(), num_keys(),
                   "KeyedJaggedTensor::Split: the sum of segments, and the keys");
  for (size_t i = 0; i < segments.size(); ++i)
    lengths_of.push_back(offset_per_key()[static_cast<size_t>(key_offsets[i + 1])] -
                         offset_per_key()[static_cast<size_t>(key_offsets[i])]);
  std::vector<Variable> weights(segments.size());
  if (is_weighted() && !segments.empty())
    weights = tessera::Split(ctx, state_->weights, 0, lengths_of);
  std::vector<KeyedJaggedTensor> result;
  for (size_t i = 0; i < segments.size(); ++i) {
    const int64_t begin = key_offsets[i], end = key_offsets[i + 1];
    const auto b = static_cast<size_t>(begin), e = static_cast<size_t>(end);
    KjtState part;
    part.keys = Slice(keys(), begin, end);
    part.values = values().Rows(offset_per_key()[b], offset_per_key()[e]);
    part.weights = std::move(weights[i]);
    part.lengths = lengths(ctx).Rows(lengths_offset_per_key()[b], lengths_offset_per_key()[e]);
    part.stride = stride();
    part.variable_stride = variable_stride_per_key();
    part.stride_per_key_per_rank = Slice(state_->stride_per_key_per_rank, begin, end);
    part.stride_per_key = Slice(stride_per_key(), begin, end);
    part.length_per_key = Slice(length_per_key(), begin, end);
    result.push_back(KeyedJaggedTensor(internal::DerivedKjtState(std::move(part))));
  }
  return result;
}

KeyedJaggedTensor KeyedJaggedTensor::Permute(Context& ctx,
                                             const std::vector<int64_t>& indices) const {
  for (size_t i = 0; i < indices.size(); ++i)
    TESSERA_CHECK(indices[i] >= 0 && indices[i] < num_keys(),
                  "KeyedJaggedTensor::Permute: index {} at position {}, {} keys", indices[i], i,
                  num_keys());
  FindTotals(ctx);
  const auto of_values = std::make_shared<const SegmentSelection>(ctx, offset_per_key(), indices);
  KjtState part;
  part.keys = Pick(keys(), indices);
  part.values = of_values->Gather(ctx, values());
  part.weights = SelectSegments(ctx, state_->weights, of_values);
  part.lengths = SegmentSelection(ctx, lengths_offset_per_key(), indices).Gather(ctx, lengths(ctx));
  part.stride = stride();
  part.variable_stride = variable_stride_per_key();
  part.stride_per_key_per_rank = Pick(state_->stride_per_key_per_rank, indices);
  part.stride_per_key = Pick(stride_per_key(), indices);
  part.length_per_key = Pick(length_per_key(), indices);
  return KeyedJaggedTensor(internal::DerivedKjtState(std::move(part)));
}

KeyedJaggedTensor KeyedJaggedTensor::Concat(Context& ctx,
                                            const std::vector<KeyedJaggedTensor>& parts) {
  TESSERA_CHECK(!parts.empty(), "KeyedJaggedTensor::Concat: nothing to join");
  CheckAlike(parts);
  KeyedJaggedTensorArgs args;
  for (const KeyedJaggedTensor& part : parts) {
    Append(&args.keys, part.keys());
    Append(&args.stride_per_key_per_rank, part.state_->stride_per_key_per_rank);
  }
  args.values = Join(ctx, parts, [](const auto& p) { return p.values(); }).value();
  args.lengths = Join(ctx, parts, [&ctx](const auto& p) { return p.lengths(ctx); }).value();
  if (parts[0].is_weighted())
    args.weights = Join(ctx, parts, [](const auto& p) { return p.weights(); });
  args.inverse_indices = JoinInverseIndices(ctx, parts);
  if (!parts[0].variable_stride_per_key()) args.stride = parts[0].stride();
  KeyedJaggedTensor joined(std::move(args));
  std::vector<int64_t> totals;
  for (const KeyedJaggedTensor& part : parts) {
    if (!part.state_->totals_known) return joined;
    Append(&totals, part.length_per_key());
  }
  internal::SetTotals(std::move(totals), joined.state_.get());
  return joined;
}

KeyedJaggedTensor KeyedJaggedTensor::FromJtDict(
    Context& ctx, const std::vector<std::pair<std::string, JaggedTensor>>& dict) {
  if (dict.empty()) return KeyedJaggedTensor();
  KeyedJaggedTensorArgs args;
  std::vector<Variable> values, lengths, weights;
  std::vector<int64_t> totals;
  const JaggedTensor& first = dict[0].second;
  bool same_batch = true;
  for (const auto& [key, jt] : dict) {
    TESSERA_CHECK_EQ(jt.is_weighted(), first.is_weighted(),
                     "KeyedJaggedTensor::FromJtDict: key \"{}\": weighted, as key \"{}\" is", key,
                     dict[0].first);
    args.keys.push_back(key);
    values.push_back(jt.values());
    totals.push_back(jt.values().dim(0));
    lengths.push_back(jt.lengths(ctx));
    if (jt.is_weighted()) weights.push_back(jt.weights());
    args.stride_per_key_per_rank.push_back({jt.batch_size()});
    same_batch = same_batch && jt.batch_size() == first.batch_size();
  }
  if (same_batch) args.stride_per_key_per_rank.clear();
  args.values = tessera::Concat(ctx, values, 0).value();
  args.lengths = tessera::Concat(ctx, lengths, 0).value();
  if (!weights.empty()) args.weights = tessera::Concat(ctx, weights, 0);
  KeyedJaggedTensor joined(std::move(args));
  internal::SetTotals(std::move(totals), joined.state_.get());
  return joined;
}

KeyedJaggedTensor KeyedJaggedTensor::Empty(Context& ctx, bool is_weighted, DType values_dtype,
                                           DType weights_dtype, DType lengths_dtype) {
  KeyedJaggedTensorArgs args;
  args.values = Tensor::Empty(ctx, {0}, values_dtype);
  args.lengths = Tensor::Empty(ctx, {0}, lengths_dtype);
  if (is_weighted) args.weights = Tensor::Empty(ctx, {0}, weights_dtype);
  return KeyedJaggedTensor(std::move(args));
}

KeyedJaggedTensor KeyedJaggedTensor::EmptyLike(Context& ctx, const KeyedJaggedTensor& like) {
  const DType weights_dtype = like.is_weighted() ? like.weights().value().dtype() : DType::kF32;
  KeyedJaggedTensor empty = Empty(ctx, like.is_weighted(), like.values().dtype(), weights_dtype,
                                  like.lengths(ctx).dtype());
  empty.state_->stride = like.variable_stride_per_key() ? 0 : like.stride();
  return empty;
}

}  // namespace tessera
