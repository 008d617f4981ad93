#include "sharding/exchange/dedup.h"

#include <algorithm>
#include <utility>

#include "embedding/update/clamp_gradient.h"
#include "embedding/update/expand_bags.h"
#include "runtime/base/names.h"
#include "runtime/element_at.h"
#include "sharding/exchange/copy_segments.h"
#include "sparse/ids/unique.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

constexpr const char* kDedupNames[] = {"none", "rank", "node"};

// Distinct ids travel in bags of so many, so that several threads can look at one table's.
constexpr int64_t kBag = 64;

// The ids of all features, table after table; fills result.readers.
Tensor Joined(Context& ctx, const std::vector<DistFeature>& features,
              const std::vector<int>& tables, std::vector<int64_t>& group_offsets,
              DedupedIds& result) {
  const DType type = features.empty() ? DType::kI64 : features[0].ids.dtype();
  int64_t total = 0;
  for (const DistFeature& f : features) total += f.end - f.begin;
  const Tensor ids = Tensor::Empty(ctx, {total}, type);
  result.readers.resize(features.size());
  std::vector<SegmentCopy> copies;
  int64_t at = 0;
  for (size_t t = 0; t + 1 < group_offsets.size(); ++t) {
    const int64_t first = at;
    for (size_t f = 0; f < features.size(); ++f) {
      if (tables[f] != static_cast<int>(t)) continue;
      const DistFeature& feature = features[f];
      const int64_t n = feature.end - feature.begin;
      copies.push_back({internal::ElementAt(feature.ids, feature.begin),
                        internal::ElementAt(ids, at), n * SizeOf(type)});
      result.readers[f] = {static_cast<int>(t), at - first, at - first + n};
      at += n;
    }
    group_offsets[t + 1] = at;
  }
  CopySegments(ctx, copies);
  return ids;
}

// Keys of all tables, with distinct ids [begins[t], begins[t + 1]).
KeyedJaggedTensor MakeKjt(Context& ctx, const Tensor& ids, const std::vector<int64_t>& begins) {
  KeyedJaggedTensorArgs args{.keys = {}, .values = ids};
  std::vector<int64_t> lengths;
  for (size_t t = 0; t + 1 < begins.size(); ++t) {
    args.keys.push_back(std::to_string(t));
    args.length_per_key.push_back(begins[t + 1] - begins[t]);
    args.stride_per_key_per_rank.push_back({(begins[t + 1] - begins[t] + kBag - 1) / kBag});
    for (int64_t i = begins[t]; i < begins[t + 1]; i += kBag)
      lengths.push_back(std::min(kBag, begins[t + 1] - i));
  }
  args.lengths = Tensor::From(ctx, lengths);
  return KeyedJaggedTensor(std::move(args));
}

// Turns places among the distinct ids of all tables into places among the table's own.
Tensor OwnPlaces(Context& ctx, const Tensor& places, const std::vector<int64_t>& begins) {
  const Tensor count =
      CompleteCumsum(ctx, Tensor::Full(ctx, {begins.back()}, 1, DType::kI64));  // 0, 1, 2, …
  const Tensor own = Tensor::Empty(ctx, {begins.back()}, DType::kI64);
  for (size_t t = 0; t + 1 < begins.size(); ++t)
    own.Rows(begins[t], begins[t + 1]).CopyFrom(ctx, count.Rows(0, begins[t + 1] - begins[t]));
  return TakeRows(ctx, own, places);
}

// Rows of distinct ids [U, D] -> [ids, D], and the sums of gradients on the way back.
Tensor Expanded(Context& ctx, const Tensor& rows, const Tensor& places) {
  if (places.numel() == 0) return Tensor::Zeros(ctx, {0, rows.dim(1)});
  const internal::DistinctBags distinct{rows.dim(0), rows.dim(1), 0, 0};
  return internal::ExpandBags(ctx, rows, {&distinct, 1}, places);
}
Tensor Folded(Context& ctx, const Tensor& grad, const Tensor& places, const Shape& rows) {
  if (places.numel() == 0) return Tensor::Zeros(ctx, rows);
  const internal::DistinctBags distinct{rows[0], rows[1], 0, 0};
  return internal::FoldBags(ctx, grad, {&distinct, 1}, places).Reshape(rows);
}

class SpreadBackward final : public Function {
 public:
  SpreadBackward(std::shared_ptr<const DedupedIds> ids, std::vector<Shape> shapes, float limit)
      : ids_(std::move(ids)), shapes_(std::move(shapes)), limit_(limit) {}
  std::string_view name() const override { return "rows of distinct ids"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    std::vector<Tensor> joined;
    for (size_t t = 0; t < shapes_.size(); ++t)
      joined.push_back(Tensor::Zeros(ctx, {ids_->places[t].dim(1), shapes_[t][1]}));
    for (size_t f = 0; f < grads.size(); ++f) {
      const DedupedIds::Reader& reader = ids_->readers[f];
      if (!grads[f]) continue;
      joined[static_cast<size_t>(reader.table)]
          .Rows(reader.begin, reader.end)
          .CopyFrom(ctx, grads[f].To(ctx, DType::kF32));
    }
    for (size_t t = 0; t < joined.size(); ++t) {
      if (limit_ > 0) joined[t] = internal::ClampGradient(ctx, joined[t], limit_);
      joined[t] = Folded(ctx, joined[t], ids_->places[t], shapes_[t]);
    }
    return joined;
  }

 private:
  std::shared_ptr<const DedupedIds> ids_;
  std::vector<Shape> shapes_;
  float limit_;
};

}  // namespace

std::string ToString(IdDedup dedup) { return kDedupNames[static_cast<int>(dedup)]; }
IdDedup ParseIdDedup(const std::string& name) {
  return internal::ParseName<IdDedup>(name, "dedup", kDedupNames);
}

DedupedIds DedupIds(Context& ctx, const std::vector<DistFeature>& features,
                    const std::vector<int>& tables, size_t num_tables) {
  DedupedIds result;
  std::vector<int64_t> group_offsets(num_tables + 1, 0);
  const Tensor ids = Joined(ctx, features, tables, group_offsets, result);
  const UniqueIds unique = UniquePerGroup(ctx, ids, group_offsets, /*counts=*/false);
  const std::vector<int64_t> begins = unique.group_offsets.ToVector<int64_t>();
  const Tensor places = OwnPlaces(ctx, unique.inverse, begins);
  result.kjt = MakeKjt(ctx, unique.values, begins);
  for (size_t t = 0; t < num_tables; ++t) {
    const int64_t n = group_offsets[t + 1] - group_offsets[t];
    result.places.push_back(places.Rows(group_offsets[t], group_offsets[t + 1]).Reshape({1, n}));
    result.features.push_back({result.kjt.values(), begins[t], begins[t + 1],
                               result.kjt.lengths_offset_per_key()[t],
                               result.kjt.stride_per_key()[t]});
  }
  return result;
}

std::vector<Variable> SpreadRows(Context& ctx, std::shared_ptr<const DedupedIds> ids,
                                 std::vector<Variable> rows, const SpreadOptions& options) {
  std::vector<Tensor> joined, outputs;
  std::vector<Shape> shapes;
  for (size_t t = 0; t < rows.size(); ++t) {
    shapes.push_back(rows[t].shape());
    joined.push_back(Expanded(ctx, rows[t].value(), ids->places[t]).To(ctx, options.output_type));
  }
  for (const DedupedIds::Reader& reader : ids->readers)
    outputs.push_back(joined[static_cast<size_t>(reader.table)].Rows(reader.begin, reader.end));
  return Record(
      ctx,
      std::make_unique<SpreadBackward>(std::move(ids), std::move(shapes), options.max_gradient),
      std::move(rows), std::move(outputs));
}

}  // namespace tessera
